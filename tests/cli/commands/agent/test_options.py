"""Every option of `operable agent …` does something, and that is seen: here, or in the test that is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.agents import Scene, steps
from tests.cli.options import Table, commands
from tests.host.agents import calls
from tests.state.test_sealed_head import key_files
from tests.tool.drive import Outcome

pytestmark = pytest.mark.timeout(300)

TABLE = Table[Scene](commands("operable.cli.commands.agent", "agent "))
effect, seen = TABLE.effect, TABLE.seen
TALKS = "agent prompt,agent chat"
ANSWER, PROMPT = "cli/commands/agent/test_answer.py::test_", "cli/commands/agent/test_prompt.py::test_"
CONTROL = "cli/commands/agent/test_session_control.py::test_"
LOGS, INSTALL = "cli/commands/agent/test_logs.py::test_", "cli/commands/agent/test_install.py::test_"
APPROVE, IMPORT = "cli/commands/agent/test_approve.py::test_", "cli/commands/agent/test_import.py::test_"
LIST = "cli/commands/agent/test_list.py::test_"


def talked(scene: Scene, message: str, *words: str, **options: Any) -> list[Outcome]:
    """The same message by `prompt` and by `chat`."""
    (scene.work / "messages").write_text(message + "\n")
    return [
        scene("prompt", "scripted", "--prompt", message, *words, **options),
        scene("chat", "scripted", "--messages", "messages", *words, **options),
    ]


def edit(path: Path) -> str:
    return steps({"call": "Edit", "kind": "edit", "args": {"path": "a"}, "ask": True, "touch": str(path)})


# -- from elsewhere

ADDED = "cli/commands/agent/test_installation.py::test_"
seen("agent add", "--signed", "--revision", by=ADDED + "what_it_may_do_is_shown_and_it_works_after_a_yes")
seen("agent update", "--revision", by=ADDED + "an_update_shows_the_difference")

# -- talks

seen("agent login", "--from-file", by="cli/commands/agent/test_install.py::test_a_key_is_kept_where_the_inventory_says_and_is_nowhere_else")  # fmt: skip
seen("agent prompt", "--prompt", by=PROMPT + "with_nothing_said_every_question_is_answered_with_no")
seen("agent chat", "--messages", by="cli/commands/agent/test_chat.py::test_messages_of_a_file_are_turns_of_one_session_in_machine_mode")  # fmt: skip
seen("agent prompt", "--continuation", by=PROMPT + "a_strategy_that_the_manifest_does_not_support_is_refused")


@effect(TALKS, "--allow", "--deny", "--policy")
def _(scene: Scene) -> None:
    scene.user()
    (scene.work / "rules.toml").write_text('allow = ["kind:edit"]\n')
    touched = scene.work / "touched"
    for words, happens in (
        ([], False),
        (["--allow", "Edit"], True),
        (["--allow", "*", "--deny", "kind:edit"], False),
        (["--policy", "rules.toml"], True),
    ):
        found = [
            [not result.get("denied", False) for result in outcome.of("tool-result")]
            for outcome in talked(scene, edit(touched), *words)
        ]
        assert found == [[happens], [happens]], words


@effect(TALKS, "--ask", "--session")
def _(scene: Scene) -> None:
    scene.user()
    (scene.work / "messages").write_text(edit(scene.work / "touched") + "\n")
    for number, words in enumerate((("--prompt", edit(scene.work / "touched")), ("--messages", "messages"))):
        verb, name = ("prompt", "chat")[number], f"ses_{number}"
        with scene.running(verb, "scripted", *words, "--ask", "Edit", "--session", name) as asking:
            asking.event("agent-prompt")
            (question,) = scene("approvals", "--session", name).of("agent_question")
            assert scene("answer", name, question["question"], "--deny").exit_code == 0
            assert asking.finish().of("tool-result")[0]["denied"] is True


@effect(TALKS, "--mode", "--model", "--option", "--env")
def _(scene: Scene) -> None:
    options = [
        {"id": "model", "type": "string", "bin_args_template": ["--model", "{value}"]},
        {"id": "depth", "type": "integer", "bin_args_template": ["--depth", "{value}"]},
    ]
    folder = scene.user(options=options, modes=[{"id": "plan", "bin_args_append": ["--plan"]}])
    chosen = ("--mode", "plan", "--model", "m-1", "--option", "depth=3", "--env", "GIVEN=this")
    for outcome in (*talked(scene, "x"), *talked(scene, "x", *chosen)):
        assert outcome.exit_code == 0, outcome
    plain, with_words = calls(folder)[:2], calls(folder)[2:]
    for call in plain:
        assert (call["argv"], call["env"].get("GIVEN")) == ([], None)
    for call in with_words:
        assert call["argv"] == ["--plan", "--model", "m-1", "--depth", "3"]
        assert call["env"]["GIVEN"] == "this"


@effect(TALKS, "--workspace")
def _(scene: Scene) -> None:
    folder = scene.user()
    elsewhere = scene.work / "elsewhere"
    elsewhere.mkdir()
    talked(scene, "x", "--workspace", "elsewhere")
    assert [call["cwd"] for call in calls(folder)] == [str(elsewhere)] * 2


seen(TALKS, "--sandbox", "--egress", by="cli/commands/agent/test_options.py::test_a_host_is_reached_through_the_proxy_of_a_sandbox")  # fmt: skip


@pytest.mark.needs("bwrap")
def test_a_host_is_reached_through_the_proxy_of_a_sandbox(scene):
    program = scene.user() / "scripted"
    first, *rest = program.read_text().splitlines(keepends=True)
    note = (
        "import json, os, sys\nif '--version' not in sys.argv:\n"
        "    with open('seen', 'a') as file: print(json.dumps(dict(os.environ)), file=file)\n"
    )
    program.write_text(first + note + "".join(rest))
    for words, boxed, reaches in (
        ([], False, False),
        (["--sandbox", "bubblewrap"], True, False),
        (["--sandbox", "bubblewrap", "--egress", "b.example"], True, True),
    ):
        (scene.work / "seen").unlink(missing_ok=True)
        for outcome in talked(scene, "x", *words):
            assert outcome.summary["sandbox"] == ("bubblewrap" if boxed else "none"), outcome
        found = [json.loads(line) for line in (scene.work / "seen").read_text().splitlines()]
        assert {"HTTPS_PROXY" in each for each in found} == {reaches}, words


@effect(TALKS, "--resume")
def _(scene: Scene) -> None:
    scene.user(voice="acp")
    plain, resumed = (talked(scene, "x", *words) for words in ((), ("--resume", "their-own-id")))
    assert "their-own-id" not in {outcome.summary["agent_session_id"] for outcome in plain}
    assert [outcome.summary["agent_session_id"] for outcome in resumed] == ["their-own-id"] * 2


@effect(TALKS, "--install")
def _(scene: Scene) -> None:
    folder = scene.user(bin="scripted")
    for outcome in talked(scene, "x"):
        assert outcome.error["code"] == "AGENT_NOT_INSTALLED"
    assert not (folder / "calls").exists()
    for outcome in talked(scene, "x", "--install"):
        assert outcome.exit_code == 0, outcome


@effect(TALKS, "--thoughts")
def _(scene: Scene) -> None:
    scene.user()
    thinking = steps({"think": "hm, let me see"}, {"say": "so"})
    for words, shown in (([], False), (["--thoughts"], True)):
        for outcome in talked(scene, thinking, *words, output=None):
            assert ("hm, let me see" in outcome.stdout.decode() + outcome.stderr) == shown, outcome


# -- answers

seen(
    "agent answer",
    "--allow",
    "--digest",
    by=ANSWER + "a_question_is_listed_and_answered_from_another_process",
)
seen("agent answer", "--deny", "--reason", by=ANSWER + "a_denial_reaches_the_agent_with_its_reason")
seen("agent approvals", "--session", by=ANSWER + "a_question_is_listed_and_answered_from_another_process")


@effect("agent answer", "--content")
def _(scene: Scene) -> None:
    scene.user(voice="acp")
    form = {"type": "object", "properties": {"a": {"type": "string"}}}
    params = {"sessionId": "session-1", "mode": "form", "message": "Which?", "requestedSchema": form}
    asks = steps({"request": "elicitation/create", "params": params})
    (scene.work / "content.json").write_text('{"a": "this one"}')
    with scene.running(
        "prompt", "scripted", "--prompt", asks, "--ask", "*", "--session", "ses_form"
    ) as asking:
        question = asking.event("agent-prompt")["toolCallId"]
        assert scene("answer", "ses_form", question, "--allow", "--content", "content.json").exit_code == 0
        said = asking.finish().of("text-delta")[0]["text"]
    assert json.loads(said) == {"action": "accept", "content": {"a": "this one"}}


@effect("agent answer", "--remember")
def _(scene: Scene) -> None:
    scene.user()
    call = {"call": "Bash", "kind": "execute", "args": {"command": "ls"}, "ask": True, "result": "ok"}
    for remember, asked in (([], 2), (["--remember", "call"], 1), (["--remember", "execute:ls"], 1)):
        name = f"ses_{len(remember)}{asked}{remember[-1][:4] if remember else ''}"
        words = ("--prompt", steps(call, call), "--ask", "*", "--session", name)
        with scene.running("prompt", "scripted", *words) as asking:
            for _ in range(asked):
                question = asking.event("agent-prompt")["toolCallId"]
                done = scene("answer", name, question, "--allow", *remember)
                assert done.exit_code == 0, done
            outcome = asking.finish()
        assert [result.get("denied", False) for result in outcome.of("tool-result")] == [False] * 2


@effect("agent answer", "--option")
def _(scene: Scene) -> None:
    scene.user(voice="acp")
    call = {"call": "Bash", "kind": "execute", "args": {"command": "ls"}, "ask": True, "result": "ok"}
    for number, verdict in enumerate(("allow", "reject")):
        name = f"ses_{number}"
        words = ("--prompt", steps(call), "--ask", "*", "--session", name)
        with scene.running("prompt", "scripted", *words) as asking:
            prompt = asking.event("agent-prompt")
            options = [each["id"] for each in prompt["options"] if each["kind"].startswith(verdict)]
            guard = "--allow" if verdict == "allow" else "--deny"
            done = scene("answer", name, prompt["toolCallId"], guard, "--option", options[0])
            assert done.exit_code == 0, done
            (result,) = asking.finish().of("tool-result")
        assert result.get("denied", False) is (verdict == "reject")


# -- books

seen("agent audit", "--file", "--anchor", by=LOGS + "an_anchor_that_was_kept_elsewhere_finds_a_new_history")
seen("agent audit", "--after", by=LOGS + "the_audit_chain_tells_who_decided_what_and_any_edit_of_it_is_found")
seen("agent logs", "--after", by=LOGS + "a_log_is_read_by_cursor_page_by_page")
seen("agent logs", "--follow", by=LOGS + "a_running_session_is_followed_from_another_process_until_it_ends")
seen("agent sessions", "--workspace", "--agent", by=LOGS + "sessions_come_newest_first_and_in_pages")
seen("agent sessions", "--alive", by=LOGS + "a_session_whose_host_was_killed_does_not_run_for_ever")


@effect("agent audit", "--key")
def _(scene: Scene) -> None:
    scene.user()
    other = scene.work / "other"
    other.mkdir()
    private, public = key_files(scene.work)
    scene("prompt", "scripted", "--prompt", "x", env={"OPERABLE_AUDIT_KEY": private})
    assert scene("audit", "verify", "--key", public).exit_code == 0
    assert scene("audit", "verify", "--key", key_files(other)[1]).exit_code == 65


@effect("agent audit", "--workspace")
def _(scene: Scene) -> None:
    scene.user()
    other = scene.work / "other"
    other.mkdir()
    scene("prompt", "scripted", "--prompt", "x", "--workspace", "other")
    assert scene("audit").results == []
    assert scene("audit", "--workspace", "other").results != []


# -- the agents of a project

seen(
    "agent list",
    "--origin",
    "--workspace",
    by=LIST + "a_manifest_that_cannot_be_read_is_listed_with_its_problem",
)
seen("agent prune", "--older-than", "--workspace", by=CONTROL + "only_sessions_whose_own_time_or_the_age_is_over_are_pruned")  # fmt: skip
seen(TALKS, "--keep-for", by=CONTROL + "only_sessions_whose_own_time_or_the_age_is_over_are_pruned")
seen("agent validate", "--tolerant", by=LIST + "tolerant_validation_takes_extensions_with_a_warning")
seen(
    "agent approve",
    "--digest",
    by=APPROVE + "a_manifest_is_approved_as_it_is_and_no_longer_when_it_has_changed",
)
seen("agent approve,agent revoke", "--adapter", by=APPROVE + "an_adapter_is_seen_approved_and_revoked_without_being_imported")  # fmt: skip
seen("agent import", "--only", by=IMPORT + "one_entry_can_be_chosen_and_an_unknown_one_is_told")
seen("agent import", "--to", "--force", by=IMPORT + "a_manifest_that_is_there_is_not_overwritten_unasked")
seen("agent probe", "--patience", "--show", by=IMPORT + "a_program_that_is_asked_becomes_a_draft_that_can_be_kept_and_used")  # fmt: skip
seen("agent probe", "--unconfined", by=IMPORT + "without_a_way_to_confine_it_nothing_is_run")
seen("agent doctor", "--fix", by=INSTALL + "doctor_looks_and_changes_nothing_and_with_fix_mends_what_it_can")
seen("agent install", "--again", by=INSTALL + "an_agent_is_installed_once_and_a_dry_run_installs_nothing")
seen("agent setup", "--answers", by=INSTALL + "setup_takes_answers_from_a_file_and_is_done_once")


@effect(
    "agent approve,agent revoke,agent show,agent doctor,agent install,agent setup,agent login", "--workspace"
)
def _(scene: Scene) -> None:
    other = Scene(scene.work / "other")
    other.project("theirs")
    there = ("--workspace", str(other.work))
    for verb in ("show", "approve", "doctor", "install", "setup", "login", "revoke"):
        absent, found = scene(verb, "theirs"), scene(verb, "theirs", *there)
        assert absent.error["code"] == "UNKNOWN_AGENT", (verb, absent)
        assert found.exit_code == 0 or found.error["code"] != "UNKNOWN_AGENT", (verb, found)


@effect("agent install", "--allow-unpinned")
def _(scene: Scene) -> None:
    scene.user(
        "loose", bin="loose-nowhere", install=[{"method": "curl", "url": "http://127.0.0.1:9/install.sh"}]
    )
    refused, tried = scene("install", "loose"), scene("install", "loose", "--allow-unpinned")
    assert "pin it, or allow unpinned" in json.dumps(refused.error), refused
    assert "pin it, or allow unpinned" not in json.dumps(tried.error), tried


@effect("agent setup", "--again")
def _(scene: Scene) -> None:
    scene.user(setup=[{"id": "mark", "kind": "cmd", "cmd": "echo x >> marked"}])
    for words, count in (([], 1), ([], 1), (["--again"], 2)):
        assert scene("setup", "scripted", *words).exit_code == 0
        marked = [*scene.home.rglob("marked"), *scene.work.rglob("marked")]
        assert [len(path.read_text().splitlines()) for path in marked] == [count]


@effect("agent login", "--again")
def _(scene: Scene) -> None:
    scene.user(auth={"state": {"paths": ["logged"]}, "login": {"cmd": "echo x >> logged"}})
    for words, count in (([], 1), ([], 1), (["--again"], 2)):
        assert scene("login", "scripted", *words).exit_code == 0, words
        logged = [*scene.home.rglob("logged"), *scene.work.rglob("logged")]
        assert [len(path.read_text().splitlines()) for path in logged] == [count]


def test_every_option_has_an_effect_that_is_seen():
    assert TABLE.gaps() == []


@pytest.mark.parametrize("check", TABLE.parameters())
def test_the_option_has_an_effect(check, tmp_path):
    check(Scene(tmp_path))
