"""What a report says about the steps before a session is what happens."""

import os
import sys

import pytest

from operable.host.launch.doctor import doctor, rights
from operable.manifest.blocks import Auth, CmdStep, CompletesWhen, Login, OptionsCmd, PromptStep, SkipIf
from tests.host.launch.making import Somebody, agent, launch, program
from tests.proc.sandbox.kernel import needs_scopes

pytestmark = needs_scopes
# Says what it could do, and then that nothing is done yet.
HOSTILE = """\
import os, sys
done = []
for name, act in {
    "write": lambda: open("mark", "w"),
    "home": lambda: open(os.path.expanduser("~/mark"), "w"),
    "remove": lambda: os.unlink("file"),
    "signal": lambda: os.kill(int(sys.argv[1]), 0),
    "mode": lambda: os.chmod("file", 0o777) or os.stat("file").st_mode & 0o077 or 1 / 0,
}.items():
    try: act()
    except (OSError, ZeroDivisionError): continue
    done.append(name)
sys.exit(9 if done else 1)
"""


def outcomes(manifest):
    return {each.item: each.outcome for each in rights(manifest)}


def test_every_kind_of_step_that_is_declared_is_named():
    plain = {"install": "unconfined", "version check": "enforced"}
    assert outcomes(agent()) == plain
    step = CmdStep(id="a", cmd="true")
    assert outcomes(agent(setup=(step,), auth=Auth(login=Login(cmd="agent login")))) == {
        **plain,
        "setup": "unconfined",
        "login": "unconfined",
    }
    asking = CmdStep(id="a", cmd="true", skip_if=SkipIf(cmd="false"))
    assert outcomes(agent(setup=(asking,)))["questions"] == "enforced"


@pytest.mark.parametrize("asks", ["skip_if", "completes_when"])
def test_a_question_of_a_manifest_changes_nothing(tmp_path, monkeypatch, asks):
    monkeypatch.setenv("HOME", str(tmp_path))
    program(tmp_path / "bin" / "agent")
    work = tmp_path / "workspace"
    work.mkdir()
    (work / "file").touch(0o600)
    (tmp_path / "hostile.py").write_text(HOSTILE)
    # 9 would mean that something was possible; the step counts as done, and the login as complete, only then.
    question = f"{sys.executable} -I {tmp_path}/hostile.py {os.getpid()}"
    step = CmdStep(id="a", cmd="true", skip_if=SkipIf(cmd=question, exit_code=9, timeout_ms=60_000))
    login = Login(cmd="true", completes_when=CompletesWhen(cmd=question, exit_code=9))
    manifest = agent(setup=(step,)) if asks == "skip_if" else agent(auth=Auth(login=login))

    checks = {each.name: each.status for each in doctor(launch(tmp_path, manifest, tmp_path / "bin"))}

    assert checks["setup" if asks == "skip_if" else "auth"] == "failed"
    assert sorted(os.listdir(work)) == ["file"]
    assert (oct((work / "file").stat().st_mode)[-3:], (tmp_path / "mark").exists()) == ("600", False)


def test_the_list_of_choices_of_a_prompt_is_a_question_too(tmp_path):
    program(tmp_path / "bin" / "agent")
    options = OptionsCmd(cmd="touch mark; echo red")
    step = PromptStep(id="a", prompt="?", type="select", options=options)
    person = Somebody("red")
    launch(tmp_path, agent(setup=(step,)), tmp_path / "bin", person=person).setup(None).run()
    assert [each.options for each in person.asked] == [(("red", "red"),)]
    assert not (tmp_path / "workspace" / "mark").exists()


def test_a_setup_step_has_the_rights_of_the_user_as_the_report_says(tmp_path):
    program(tmp_path / "bin" / "agent")
    manifest = agent(setup=(CmdStep(id="a", cmd=f"touch {tmp_path}/mark"),))
    assert outcomes(manifest)["setup"] == "unconfined"
    launch(tmp_path, manifest, tmp_path / "bin", person=Somebody()).setup(None).run()
    assert (tmp_path / "mark").exists()
