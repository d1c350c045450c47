"""The gate at the command line: rules are shown and tried, questions are listed and answered, calls are judged and recorded."""

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from operable.gate.approvals import ApprovalQueue, Ask
from operable.gate.audit.chain import Audit
from operable.gate.audit.place import workspace_slug
from operable.gate.call_gate import CallGate
from operable.gate.call_queue import waiting_questions
from operable.gate.policy.call_policy import CallPolicy
from operable.host.session.registry import RUNNING, Registry, SessionMeta
from operable.kernel.errors import Fail
from operable.wire.events import Choice
from tests.app.making import made
from tests.cli.drive import operable, running
from tests.engine.manifests import manifest, task
from tests.gate.calls import LIMIT, push
from tests.run.fake import HITS, tool


class Home:
    """A home of its own, with a policy file that the test writes, and a gate that asks there."""

    def __init__(self, folder):
        self.folder = folder
        self.work = folder / "work"
        self.config = folder / "home" / "config"
        self.config.mkdir(parents=True)
        (self.work / ".git").mkdir(parents=True)
        self.env = {"OPERABLE_HOME": str(folder / "home"), "HOME": str(folder)}
        self.questions = str(folder / "home" / "state" / "gate")
        (folder / "empty.toml").write_text("")
        self.gate = CallGate(
            policy=CallPolicy(str(folder / "empty.toml")),
            root=str(folder / "home" / "state" / "agents"),
            questions=self.questions,
        )

    def rules(self, text):
        (self.config / "policy.toml").write_text(text)

    def __call__(self, *words, **options):
        env = self.env | options.pop("env", {})
        return operable(words[0], *words[1:], env=env, cwd=self.work, **options)

    def records(self):
        return self("audit", "list", "--calls").results

    def asking(self, pool, **facts):
        """Calls that wait for an answer, in threads."""
        call = push(effect="destroy", workspace=str(self.work), **facts)
        return pool.submit(self.gate.admit_now, call)

    def wait(self, count):
        ends = threading.Event()
        for _ in range(int(LIMIT / 0.02)):
            found = waiting_questions(self.questions)
            if len(found) == count:
                return found
            ends.wait(0.02)
        raise AssertionError("nothing is asked")


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


def test_without_a_file_the_built_in_rules_are_shown(home):
    shown = home("policy", "show").results

    assert [(each["table"], each["effect"], each["pattern"]) for each in shown] == [
        ("built-in", "allow", "kind:read"),
        ("built-in", "allow", "effect:change"),
        ("built-in", "ask", "effect:destroy"),
        ("built-in", "ask", None),
    ]
    person = home("policy", "show", "--caller", "person:anna").results
    assert [(each["effect"], each["pattern"]) for each in person] == [("allow", None)]
    assert home("policy", "check").results[0]["path"] is None


def test_a_call_is_tried_without_running_anything(home):
    home.rules('deny = ["execute:git push*"]\n[[caller]]\nmatch = "mcp:*"\nask = ["app/notes/add"]')

    def tried(*words):
        (found,) = home("policy", "test", *words).results
        return found["effect"], found["rule"]

    pushing = ("wrap/git/push", "--caller", "mcp:x", "--command", "git push origin main")
    assert tried(*pushing) == ("deny", "policy:deny execute:git push*")
    assert tried("app/notes/add", "--caller", "mcp:x", "--arg", "text=hello") == (
        "ask",
        "policy:ask app/notes/add",
    )
    assert tried("app/notes/add", "--caller", "flow:a/b", "--effect", "change")[0] == "allow"
    assert tried("app/notes/add") == ("allow", "built-in:default")
    # Of a known thing the effect and the command line are as the catalog has them, as for a real call.
    assert tried("wrap/git/log", "--caller", "mcp:x")[0] == "allow"
    assert tried("wrap/git/log", "--caller", "mcp:x", "--effect", "destroy")[0] == "ask"
    assert tried("wrap/git/push", "--caller", "mcp:x") == ("deny", "policy:deny execute:git push*")
    assert tried("wrap/x/y", "--workspace", "/", "--caller", "rpc:x")[0] == "ask"
    assert home("policy", "test", "nothing").error["code"] == "INVALID_CALL"
    assert home("policy", "test", "wrap/x/y", "--arg", "x").exit_code == 64
    assert not (home.folder / "home" / "state" / "agents").exists()


def test_a_file_that_is_not_valid_is_reported_whole_and_lets_nothing_run(home, tmp_path):
    home.rules('alow = ["*"]\ndeny = ["exec:rm"]')

    checked = home("policy", "check")
    assert (checked.exit_code, checked.error["code"]) == (65, "POLICY_INVALID")
    assert "alow" in checked.error["message"]
    assert "exec" in checked.error["message"]
    done = home("run", "--", tool(tmp_path, HITS))
    assert (done.exit_code, done.error["code"]) == (78, "POLICY_UNUSABLE")


def test_a_policy_file_may_be_elsewhere(home, tmp_path):
    (tmp_path / "other.toml").write_text('deny = ["tool/*"]')

    done = home("run", "--", tool(tmp_path, HITS), env={"OPERABLE_POLICY": str(tmp_path / "other.toml")})

    assert (done.exit_code, done.error["code"]) == (77, "CALL_DENIED")


def test_without_a_file_a_persons_calls_are_free_and_unrecorded(home, tmp_path):
    assert home("run", "--", tool(tmp_path, HITS)).exit_code == 0
    assert not (home.folder / "home" / "state" / "agents").exists()


def test_with_a_file_a_persons_calls_are_judged_and_recorded(home, tmp_path):
    home.rules('deny = ["wrap/git/push", "app/todo/get"]')
    words = tool(tmp_path, HITS)
    made(home.work / "apps" / "todo")
    home("app", "approve", "todo")

    assert home("run", "--", words).exit_code == 0
    assert home("app", "call", "--", "todo", "list").exit_code == 0
    assert home("app", "call", "--", "todo", "get", "x").error["code"] == "CALL_DENIED"
    with running("wrap", "git", "push", env=home.env, cwd=home.work) as process:
        assert process.finish().exit_code == 77
    with running("wrap", "git", "status", env=home.env, cwd=home.work) as process:
        process.finish()

    records = home.records()
    assert {record["actor"].partition(":")[0] for record in records} == {"person"}
    calls = [(record["action"], record["subject"]["kind"]) for record in records]
    assert calls == [
        ("call.started", "tool"),
        ("call.ended", "tool"),
        ("call.started", "app"),
        ("call.ended", "app"),
        ("call.denied", "app"),
        ("call.denied", "wrap"),
        ("call.started", "wrap"),
        ("call.ended", "wrap"),
    ]
    verdict = home("audit", "verify").results[-1]
    assert (verdict["ok"], verdict["lost"]) == (True, 0)


WORDS = "import sys\nprint(sys.argv[1:])\n"


@pytest.mark.parametrize(
    "words",
    [
        ["search", "x"],
        ["--limit", "3", "search", "x"],
        ["--output", "jsonl", "--color=never", "search"],
        ["-v", "search"],
        ["--", "search"],
    ],
)
def test_options_in_front_of_a_command_do_not_hide_it_from_a_rule(home, tmp_path, words):
    home.rules('deny = ["tool/fake/search"]')
    assert home("run", "--", tool(tmp_path, WORDS), *words).error["code"] == "CALL_DENIED"

    home.rules('default = "deny"\nallow = ["tool/fake/search"]')
    allowed = home("run", "--", tool(tmp_path, HITS), *words)
    assert (allowed.exit_code == 0) == (words[0] == "search"), "an allow by name needs to know the name"


def test_a_command_of_two_words_is_denied_by_its_name_and_what_its_words_only_look_like_is_not(
    home, tmp_path
):
    home.rules('deny = ["tool/fake/item/remove"]')
    program = tool(tmp_path, HITS)

    for words in (["item", "remove", "7"], ["item", "--id", "7", "remove"], ["--id", "7", "item", "remove"]):
        assert home("run", "--", program, *words).error["code"] == "CALL_DENIED", words
    for words in (["item", "list", "remove"], ["find", "item", "remove"]):
        assert home("run", "--", program, *words).exit_code == 0, words
    many = [word for number in range(80) for word in ("--id", str(number))]
    assert home("run", "--", program, *many, "item", "remove").error["code"] == "COMMAND_NOT_FOUND"


def test_words_behind_a_command_of_an_application_do_not_hide_the_command_that_they_reach(home):
    home.rules('deny = ["app/todo/item/add"]')
    made(home.work / "apps" / "todo")
    home("app", "approve", "todo")

    assert home("app", "call", "--", "todo", "item", "list").exit_code == 0
    for words in (["item", "add", "x"], ["item", "--force", "add"], ["item", "Add"]):
        assert home("app", "call", "--", "todo", *words).error["code"] == "CALL_DENIED", words


def test_questions_of_calls_are_listed_and_answered_several_at_once(home):
    with ThreadPoolExecutor(3) as pool:
        calls = [home.asking(pool, arguments={"branch": name}) for name in ("a", "b", "c")]
        home.wait(3)
        listed = home("inbox", "list").results
        assert {each["source"] for each in listed} == {"call"}
        assert {each["command"] for each in listed} == {"git push origin main"}
        by_branch = {each["arguments"]["branch"]: each for each in listed}

        stale = home("inbox", "answer", by_branch["a"]["id"], "--allow", "--digest", "sha256:0")
        assert stale.error["code"] == "ASK_CHANGED"
        digest = by_branch["a"]["digest"]
        assert home("inbox", "answer", by_branch["a"]["id"], "--allow", "--digest", digest).exit_code == 0
        rest = [by_branch[name]["id"] for name in ("b", "c")]
        denied = home("inbox", "answer", *rest, "--deny", "--reason", "not now")
        assert [each["allowed"] for each in denied.results if each["type"] == "inbox_answer"] == [
            False,
            False,
        ]

        calls[0].result(LIMIT).close("OK")
        for call in calls[1:]:
            with pytest.raises(Fail, match="not now"):
                call.result(LIMIT)
    assert home("inbox", "list").results == []
    late = home("inbox", "answer", by_branch["a"]["id"], "--deny")
    assert late.error["code"] == "NO_SUCH_ASK"
    assert home("inbox", "answer", "x").error["code"] == "MISSING_DECISION"
    home.gate.close()


def test_people_see_who_asks_from_where_and_since_when(home):
    with ThreadPoolExecutor(1) as pool:
        call = home.asking(pool)
        home.wait(1)
        time.sleep(1.1)
        seen = home("inbox", "list", output=None).stdout
        (item,) = home("inbox", "list").results
        header, row, *_ = seen.decode().splitlines()
        short, age, unit = row.split()[:3]
        answer = home("inbox", "answer", short, "--allow")
        if answer.exit_code:
            home("inbox", "answer", item["id"], "--allow")  # nothing is to wait for it
        call.result(LIMIT).close("OK")

    assert header.split() == ["ID", "AGE", "AGENT", "FOLDER", "TOOL", "TEXT", "COMMAND"]
    assert answer.exit_code == 0
    assert item["id"].startswith(short)
    assert len(short) < len(item["id"])
    assert float(age) >= 1
    assert unit == "s"
    assert "~/work" in row
    assert item["agent"] in row
    assert "git push origin main" in row
    home.gate.close()


def test_a_watcher_sees_questions_as_they_come(home):
    with (
        ThreadPoolExecutor(1) as pool,
        running("inbox", "watch", env=home.env, cwd=home.work) as watcher,
    ):
        call = home.asking(pool)
        seen = watcher.event("inbox_item")
        (ask,) = home.wait(1)
        assert ask.id == seen["ask_id"]
        home("inbox", "answer", ask.id, "--allow")
        call.result(LIMIT).close("OK")
    home.gate.close()


def test_records_are_listed_by_caller_and_from_a_number_on(home):
    async def called(caller):
        async with await home.gate.admit(push(caller, workspace=str(home.work))):
            pass
        await home.gate.aclose()

    for caller in ("mcp:a", "mcp:b"):
        asyncio.run(called(caller))

    assert len(home.records()) == 4
    (chain,) = home.folder.rglob("audit.jsonl")
    Audit(str(chain), actor="mcp:b").record("other.action", subject={"kind": "test"})
    assert len(home("audit", "list").results) == 5
    assert {each["action"] for each in home("audit", "list", "--calls").results} == {
        "call.started",
        "call.ended",
    }
    assert {each["actor"] for each in home("audit", "list", "--caller", "mcp:b").results} == {"mcp:b"}
    assert [each["seq"] for each in home("audit", "list", "--after", "2").results] == [3, 4]
    there = home("audit", "list", "--workspace", str(home.folder))
    assert there.results == []
    anchor = home("audit", "verify").results[-1]["head"]
    assert home("audit", "verify", "--workspace", str(home.work), "--anchor", anchor).exit_code == 0
    assert home("audit", "verify", "--anchor", "9 " + "0" * 64).exit_code == 65
    assert home("audit", "verify", "--key", str(home.folder / "none")).exit_code != 0


def test_a_question_of_an_agent_is_answered_with_one_of_its_options(home, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", home.env["OPERABLE_HOME"])
    registry = Registry()
    session = registry.create(SessionMeta("ses_1", "codex", workspace_slug(str(home.work)), str(home.work)))
    session.save(status=RUNNING)
    options = (Choice("a", "Once here", "allow_once"), Choice("b", "Once there", "allow_once"))

    async def scene():
        queue = ApprovalQueue(session.folder)
        queue.put(Ask("q1", "ses_1", "permission", "May I?", "Bash", digest="sha256:x", options=options))
        (item,) = (await asyncio.to_thread(home, "inbox", "list")).results
        assert (item["source"], item["source_id"]) == ("session", "ses_1")
        unsaid = await asyncio.to_thread(home, "inbox", "answer", item["id"], "--allow")
        assert unsaid.error["code"] == "OPTION_REQUIRED"
        await asyncio.to_thread(home, "inbox", "answer", item["id"], "--allow", "--option", "b")
        return await queue.wait("q1")

    decision = asyncio.run(asyncio.wait_for(scene(), LIMIT))

    assert (decision.allowed, decision.option_id) == (True, "b")


def test_every_command_that_runs_a_tool_passes_the_gate(home, tmp_path):
    """A rule about a tool is about it in a pipeline, while it is recorded, and through a shim also."""
    home.rules('deny = ["tool/made", "tool/made/*", "wrap/git/push"]')
    free, denied = tmp_path / "free", tmp_path / "denied"
    free.mkdir()
    denied.mkdir()
    fine = tool(free, HITS)
    mark = tmp_path / "ran"
    made_tool = denied / "made"
    made_tool.write_text(f"#!{sys.executable}\nopen({str(mark)!r}, 'w').close()\n")
    made_tool.chmod(0o755)
    cassette = tmp_path / "kept.cassette"
    for words in (
        ("pipe", "--", fine, ":::", str(made_tool), "get"),
        ("pipe", "--", str(made_tool), "get", ":::", fine),
        ("record", "--to", str(cassette), "--", str(made_tool), "get"),
    ):
        assert home(words[0], *words[1:]).error["code"] == "CALL_DENIED", words
    shim = tmp_path / "git-aoi"
    shim.write_text(home("wrap", "shim", "git").results[0]["program"])
    shim.chmod(0o755)
    done = subprocess.run(
        [shim, "push"],
        env={**os.environ, **home.env},
        cwd=home.work,
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 77, done
    assert not mark.exists()
    assert not cassette.exists()
    assert home("pipe", "--", fine, ":::", fine).exit_code == 0
    assert home("record", "--to", str(cassette), "--", fine).exit_code == 0
    actions = [record["action"] for record in home.records()]
    counts = [actions.count(f"call.{each}") for each in ("denied", "started", "ended")]
    assert counts == [4, 4, 4]  # the first stage of the first pipeline was admitted, and did not run


@pytest.mark.parametrize("rule", ["flow/flow/first/trigger", "execute:touch *", "*"])
def test_a_task_that_is_run_here_is_under_the_rules_about_its_job(home, rule):
    document = manifest(
        task("first", "touch", "ran"),
        task("second", "touch", "also", trigger={"parent": "first", "on": "success"}),
    )
    (home.work / "flow.json").write_text(json.dumps(document))
    home.rules(f'deny = ["{rule}"]')
    assert home("flow", "exec", "flow.json", "first").error["code"] == "CALL_DENIED"
    assert home("flow", "run", "flow.json").error["code"] == "CALL_DENIED"
    assert not (home.work / "ran").exists()
    home.rules('allow = ["flow/flow/*"]')
    assert home("flow", "exec", "flow.json", "first").exit_code == 0
    assert home("flow", "run", "flow.json").exit_code == 0
    calls = [(each["action"], each["subject"]["ref"].removeprefix("flow/flow/")) for each in home.records()]
    assert calls.count(("call.denied", "first/trigger")) == 2
    for step in ("trigger", "shell"):  # the request of the person, and the program that the task runs
        begun = calls.count(("call.started", f"first/{step}"))
        assert begun == calls.count(("call.ended", f"first/{step}")) == 2
    assert (home.work / "also").exists()


def test_a_person_is_asked_once_about_a_task_that_they_run(home):
    program = {"program": "touch", "args": ["ran"], "env": {"TZ": "UTC"}}
    (home.work / "flow.json").write_text(json.dumps(manifest({**task("first", "touch"), "shell": program})))
    home.rules('ask = ["execute:touch *"]')
    with ThreadPoolExecutor(1) as pool:
        for words in (("exec", "flow.json", "first"), ("run", "flow.json")):
            running_it = pool.submit(home, "flow", *words)
            (ask,) = home.wait(1)
            assert ask.command == "TZ=UTC touch ran"
            assert home("inbox", "answer", ask.id, "--allow").exit_code == 0
            assert running_it.result(LIMIT).exit_code == 0
    answered = [each["metadata"].get("answered_by") for each in home.records() if "started" in each["action"]]
    assert len(answered) == 4
    assert None not in answered


def test_an_mcp_server_that_becomes_a_tool_is_started_under_the_rules(home, tmp_path):
    mark = tmp_path / "started"
    server = tmp_path / "server"
    server.write_text(f"#!{sys.executable}\nopen({str(mark)!r}, 'w').close()\n")
    server.chmod(0o755)
    for rule in ("wrap/server/*", f"execute:{server} *", "execute:server *"):
        home.rules(f'deny = ["{rule}"]')
        with running("wrap", "--mcp", f"{server} --quiet", "look", env=home.env, cwd=home.work) as process:
            assert process.finish().exit_code == 77, rule
    assert not mark.exists()
    home.rules('allow = ["wrap/server/*"]')
    with running("wrap", "--mcp", str(server), "look", env=home.env, cwd=home.work) as process:
        process.finish()
    assert mark.exists()
    actions = [record["action"] for record in home.records()]
    assert actions == ["call.denied"] * 3 + ["call.started", "call.ended"]


def test_a_conversation_of_a_person_begins_only_under_the_rule_of_its_agent(home):
    talking = ("chat", "--offline", "Say hello")
    assert home(*talking).exit_code == 0
    home.rules('deny = ["agent/operable-agent/prompt"]')
    assert home(*talking).error["code"] == "CALL_DENIED"
    prompted = home("agent", "prompt", "operable-agent", "--prompt", "hello", "--option", "provider=offline")
    assert prompted.error["code"] == "CALL_DENIED"
    home.rules('allow = ["agent/operable-agent/prompt"]\ndefault = "deny"')
    assert home(*talking).exit_code == 0

    records = home.records()
    assert {each["subject"]["ref"] for each in records} == {"agent/operable-agent/prompt"}
    assert {each["actor"].partition(":")[0] for each in records} == {"person"}
    assert [each["action"] for each in records] == ["call.denied"] * 2 + ["call.started", "call.ended"]
