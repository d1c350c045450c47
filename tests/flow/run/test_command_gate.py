"""The programs of tasks under the rules of the policy file: a denied one does not run, whatever it is wrapped in."""

import json
import threading
from pathlib import Path

import pytest

from operable.flow.errors import FlowError
from operable.flow.run.executor import execute
from operable.flow.run.options import ExecOptions
from operable.gate.approvals import Decision
from operable.gate.audit.chain import read_audit
from operable.gate.call_queue import answer_question, waiting_questions
from operable.kernel.errors import Fail
from tests.flow.callers import audited, caller, script, signing_caller
from tests.flow.executions import approve
from tests.flow.manifests import manifest, shell_task
from tests.tool.drive import LIMIT

MARK = "mark"


class Place:
    """A caller, and a policy file that the test writes."""

    def __init__(self, folder, monkeypatch):
        monkeypatch.setenv("OPERABLE_HOME", str(folder / "operable"))
        self.folder, self.by = folder, caller(folder)
        self.home = folder / "operable"
        (self.home / "config").mkdir(parents=True)
        self.mark = Path(self.by.cwd) / MARK

    def rules(self, text):
        (self.home / "config" / "policy.toml").write_text(text)

    def run(self, task, **options):
        return execute(manifest(task), "a", self.by, ExecOptions(**options))

    def refused(self, task, **options):
        with pytest.raises(FlowError) as caught:
            self.run(task, **options)
        return caught.value

    def records(self):
        chains = sorted(self.home.glob("state/agents/*/audit.jsonl"))
        return [json.loads(line) for chain in chains for _, _, line in read_audit(str(chain))]


@pytest.fixture
def place(tmp_path, monkeypatch):
    return Place(tmp_path, monkeypatch)


def program(*words, **more):
    return shell_task(shell={"program": words[0], "args": list(words[1:]), **more})


@pytest.mark.parametrize(
    "task",
    [
        program("touch", MARK),
        program("/usr/bin/touch", MARK),
        program("sh", "-c", f"touch {MARK}"),
        program("bash", "-lc", f"true; 'to''uch' {MARK}"),
        program("sh", "-c", f"$(printf to%s uch) {MARK}"),
        program("sh", "-c", f'eval "to""uch {MARK}"'),
        program("sh", "-c", f"$X {MARK}", env={"X": "touch"}),
        program("sh", "-c", f"${{X}}uch {MARK}", env={"X": "to"}),
        program("sh", stdin=f"touch {MARK}\n"),
        program("sh", "-s", stdin=f"touch {MARK}\n"),
        program("env", "touch", MARK),
        program("env", "-i", "sh", "-c", f"touch {MARK}"),
        program("nice", "-n", "1", "touch", MARK),
        program("timeout", "5", "sh", "-c", f"exec touch {MARK}"),
        program("xargs", "touch", stdin=MARK),
        program("find", ".", "-maxdepth", "0", "-exec", "touch", MARK, ";"),
        program("python3", "-c", f"import os; os.system('touch {MARK}')"),
        program("git", "-c", f"alias.x=!touch {MARK}", "x"),
        program("sh", "-c", f"printf 'touch {MARK}' > z; sh z"),
        program("sh", "-c", "true", env={"ENV": "x", "BASH_ENV": "touch mark"}),
        shell_task(shell={"program": "true"}, verify={"shell": f"touch {MARK}"}),
        shell_task(shell={"program": "true"}, verify={"shell": f"env sh -c 'touch {MARK}'"}),
    ],
    ids=lambda task: json.dumps([task["shell"], task.get("verify")]),
)
def test_a_denied_command_does_not_run_whatever_it_is_wrapped_in(place, task):
    place.rules('deny = ["execute:touch *"]')

    problem = place.refused(task)

    assert problem.flow_code == "authorization_denied"
    assert "policy:deny execute:touch *" in problem.message
    assert not place.mark.exists()
    (record,) = place.records()
    assert record["action"] == "call.denied"
    assert record["actor"]["id"] == "flow:w/a"
    step = "verify" if "verify" in task else "shell"
    assert record["subject"] == {"kind": "flow", "ref": f"flow/w/a/{step}"}
    assert record["policy"] == {"ref": "policy:deny execute:touch *", "decision": "deny"}
    assert audited(place.by)[-1]["error"]["code"] == "authorization_denied"


def test_what_no_rule_denies_runs_and_is_on_record(place):
    place.rules('deny = ["execute:rm *"]')

    done = place.run(script(f"touch {MARK}", verify={"shell": f"test -e {MARK}"}))

    assert done["ok"] is True
    records = place.records()
    assert [(each["action"], each["subject"]["ref"]) for each in records] == [
        ("call.started", "flow/w/a/shell"),
        ("call.ended", "flow/w/a/shell"),
        ("call.started", "flow/w/a/verify"),
        ("call.ended", "flow/w/a/verify"),
    ]
    assert records[0]["input"]["command"] == f"sh -c 'touch {MARK}'"
    assert {each["output"]["code"] for each in records if each["action"] == "call.ended"} == {"OK"}


def test_without_a_policy_file_a_command_is_free_and_the_log_of_workflows_has_it(place):
    assert place.run(script(f"touch {MARK}"))["ok"] is True
    assert place.records() == []
    assert audited(place.by)[-1]["command_hash"]


@pytest.mark.parametrize(
    ("task", "runs"),
    [
        (program("touch", MARK), True),
        (program("sh", "-c", f"touch {MARK}"), True),
        (program("touch", MARK, env={"LD_PRELOAD": "./x.so"}), False),
        (program("sh", "-c", f"touch {MARK}; id"), False),
        (program("sh", "-c", f"touch {MARK} $(id)"), False),
        (program("./touch", MARK), False),
        (shell_task(shell={"program": "touch", "args": [MARK]}, verify={"shell": "id"}), False),
    ],
    ids=["plain", "shell", "preload", "list", "substitution", "another", "verify"],
)
def test_where_the_default_denies_only_what_a_rule_allows_runs(place, task, runs):
    place.rules('default = "deny"\nallow = ["execute:touch *"]')
    other = Path(place.by.cwd) / "touch"
    other.write_text(f"#!/bin/sh\n/usr/bin/touch {MARK}\n")
    other.chmod(0o755)

    if runs:
        assert place.run(task)["ok"] is True
    else:
        assert place.refused(task).flow_code == "authorization_denied"
    assert place.mark.exists() is runs


def test_rules_that_cannot_be_read_let_nothing_run(place):
    place.rules("deny = 3")

    assert "policy file cannot be used" in place.refused(script(f"touch {MARK}")).message
    assert not place.mark.exists()


def test_a_rule_about_one_workflow_is_about_its_tasks_alone(place):
    place.rules('[[caller]]\nmatch = "flow:other/*"\ndeny = ["execute:touch *"]')
    assert place.run(script(f"touch {MARK}"))["ok"] is True
    place.rules('[[caller]]\nmatch = "flow:w/*"\ndeny = ["execute:touch *"]')
    assert place.refused(script(f"touch {MARK}")).flow_code == "authorization_denied"


class Person(threading.Thread):
    """Answers the first question, and keeps it."""

    def __init__(self, folder, allowed):
        super().__init__(daemon=True)
        self._folder, self._allowed, self.asked, self._over = folder, allowed, None, threading.Event()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self.join(LIMIT)

    def run(self):
        while self.asked is None and not self._over.wait(0.02):
            for ask in waiting_questions(str(self._folder)):
                try:
                    decision = Decision(self._allowed, by="anna", digest=ask.digest)
                    answer_question(ask.id, decision, str(self._folder))
                except Fail:
                    continue  # it is not whole yet
                self.asked = ask


@pytest.mark.parametrize("allowed", [True, False])
def test_a_person_answers_what_a_rule_asks_and_sees_the_whole_command(place, allowed):
    place.rules('ask = ["execute:touch *"]')
    task = program("touch", MARK, env={"TZ": "UTC"})

    with Person(place.home / "state" / "gate", allowed) as person:
        if allowed:
            assert place.run(task)["ok"] is True
        else:
            assert "anna denied flow/w/a/shell" in place.refused(task).message

    assert person.asked.command == f"TZ=UTC touch {MARK}"
    assert place.mark.exists() is allowed
    assert place.records()[0]["metadata"]["answered_by"] == "anna"


def test_a_question_ends_with_the_task_that_is_cancelled(place):
    place.rules('ask = ["execute:touch *"]')
    asks = place.home / "state" / "gate"

    problem = place.refused(script(f"touch {MARK}"), stop=lambda: bool(waiting_questions(str(asks))))

    assert "the task was cancelled" in problem.message
    assert not place.mark.exists()


def test_the_approval_of_a_task_is_the_answer_and_a_deny_is_stronger(tmp_path, monkeypatch):
    place = Place(tmp_path, monkeypatch)
    place.by = signing_caller(tmp_path)
    task = script(f"touch {MARK}", approval={"policy": "manual"})
    place.rules('ask = ["execute:touch *"]')
    approve(place.by, manifest(task))
    assert place.run(task)["ok"] is True
    assert place.records()[0]["metadata"]["answered_by"] == "the approval of the task"
    place.mark.unlink()

    place.rules('deny = ["execute:touch *"]')
    approve(place.by, manifest(task))
    assert place.refused(task).flow_code == "authorization_denied"
    assert not place.mark.exists()
