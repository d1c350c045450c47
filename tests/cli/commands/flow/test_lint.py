"""`operable flow lint`: findings as events, and an exit status that a pipeline can use."""

import json

import pytest

from tests.cli.drive import operable
from tests.flow.manifests import manifest, shell_task


@pytest.mark.parametrize(
    "task, options, status, rules",
    [
        (shell_task(), [], 0, []),
        (shell_task(schedule={"cron": "61 * * * *"}), [], 65, ["cron-syntax"]),
        (shell_task(shell={"program": "rm"}), [], 0, ["unapproved-destruction"]),
        (shell_task(shell={"program": "rm"}), ["--strict"], 65, ["unapproved-destruction"]),
        (shell_task(shell={"program": "rm"}), ["--strict", "--rule", "cron-syntax"], 0, []),
    ],
)
def test_errors_fail_and_warnings_fail_only_when_strict(task, options, status, rules):
    outcome = operable("flow", "lint", "-", *options, input=json.dumps(manifest(task)).encode())

    assert outcome.exit_code == status
    assert [seen["rule"] for seen in outcome.of("flow_lint")] == rules
    assert outcome.of("flow_lint_verdict")[0]["ok"] is (status == 0)


def test_an_unknown_rule_is_refused_with_the_known_ones():
    outcome = operable("flow", "lint", "-", "--rule", "cron-sintax", input=b"{}")

    assert outcome.exit_code == 64
    assert "cron-syntax" in outcome.of("aoi:error")[0]["hint"]
