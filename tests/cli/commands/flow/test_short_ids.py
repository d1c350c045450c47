"""People see the beginning of the id of an execution, and the command that takes the id takes that."""

import re

from tests.cli.drive import operable


def test_the_id_in_a_table_is_what_verify_takes(tmp_path):
    env = {"OPERABLE_HOME": str(tmp_path / "home")}

    def typed(*words, output=None):
        return operable("flow", *words, cwd=tmp_path, env=env, output=output)

    assert typed("init").exit_code == 0
    ran = [
        typed("exec", "workflow.json", "run", "--confirm"),
        typed("run", "workflow.json", "--root", "run", "--confirm"),
    ]
    short = [re.findall(r"\b[0-9a-f]{12}\b", done.stdout.decode()) for done in ran]
    (whole,) = [
        [event["execution_id"] for event in done.of("flow_record")]
        for done in [typed("audit", output="jsonl")]
    ]

    assert [[each[:12]] for each in whole] == short
    shown = typed("audit").stdout.decode()
    assert all(each[:12] in shown and each not in shown for each in whole)
    (found,) = typed("verify", short[0][0], output="jsonl").of("flow_verification")
    assert found["execution_id"] == whole[0]
    assert len(whole[0]) == 32
