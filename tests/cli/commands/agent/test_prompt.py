"""`operable agent prompt`: one message, its events between meta and summary, and an exit status that says how it went."""

import json
import os
import re
import shlex
import shutil
import signal
import sysconfig
import venv
from pathlib import Path

import pytest
from jsonschema_rs import Draft202012Validator

from tests.cli.agents import steps, types
from tests.cli.drive import PROGRAM, alive, operable
from tests.host.agents import calls
from tests.requirement import requirement
from tests.tool.drive import eventually, in_time, terminal

ROOT = Path(__file__).parents[4]
SOURCE = ROOT / "src" / "operable"
(PARROT,) = re.findall(
    r"(?s)AGENT-CLI.md\n(---\nname: parrot.*?)```", (ROOT / "docs/learn/first-agent.md").read_text()
)


@requirement("aip45:events:closed")
def test_the_events_of_a_turn_stand_between_meta_and_summary_as_the_wire_has_them(scene):
    scene.user(voice="acp")
    said = steps(
        {"think": "hm"},
        {"call": "Read", "kind": "read", "args": {"path": "a"}, "result": "text"},
        {"say": "Hello"},
    )

    outcome = scene("prompt", "scripted", "--prompt", said, "--session", "ses_mine")

    assert outcome.exit_code == 0
    assert [kind for kind in types(outcome) if kind != "notice"] == [
        "aoi:meta",
        "thought",
        "tool-call",
        "tool-result",
        "text-delta",
        "turn-end",
        "aoi:summary",
    ]
    call, result = outcome.of("tool-call")[0], outcome.of("tool-result")[0]
    assert (call["sessionId"], call["toolName"], call["arguments"]) == ("ses_mine", "Read", {"path": "a"})
    assert result["toolCallId"] == call["toolCallId"]
    assert outcome.of("turn-end")[0]["reason"] == "completed"
    assert (outcome.summary["session"], outcome.summary["reason"]) == ("ses_mine", "completed")
    validator = Draft202012Validator(json.loads(operable("schema", output="json").stdout))
    for event in outcome.events:
        assert [error.message for error in validator.iter_errors(event)] == []


def edit(touched, **more):
    return steps(
        {"call": "Edit", "kind": "edit", "args": {"path": "a"}, "ask": True, "touch": str(touched), **more}
    )


def test_with_nothing_said_every_question_is_answered_with_no(scene, tmp_path):
    scene.user()
    said = edit(tmp_path / "touched", denied=[{"say": "then not"}])

    outcome = scene("prompt", "scripted", "--prompt", said)

    assert outcome.exit_code == 0
    assert outcome.of("tool-result")[0]["denied"] is True
    assert outcome.of("text-delta")[0]["text"] == "then not"
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize(
    "words, happens",
    [
        (["--allow", "kind:edit"], True),
        (["--allow", "*", "--deny", "kind:edit"], False),
        (["--policy", "rules.toml"], True),
        (["--policy", "rules.toml", "--deny", "Edit"], False),
    ],
)
def test_rules_of_the_command_line_and_of_a_file_decide_together(scene, tmp_path, words, happens):
    scene.user()
    (scene.work / "rules.toml").write_text('allow = ["kind:edit"]\n')

    outcome = scene("prompt", "scripted", "--prompt", edit(tmp_path / "touched"), *words)

    assert outcome.exit_code == 0, outcome
    assert (tmp_path / "touched").exists() == happens
    assert outcome.of("tool-result")[0].get("denied", False) == (not happens)


def test_a_message_may_come_from_standard_input(scene):
    scene.user()

    outcome = scene("prompt", "scripted", "--prompt", "-", input="grüße\n".encode())

    assert outcome.of("text-delta")[0]["text"] == "You said: grüße\n"


@pytest.mark.parametrize(
    "step, exit_code, code",
    [
        ({"end": "refusal"}, 65, "TURN_REFUSED"),
        ({"end": "max_tokens"}, 65, "TURN_CUT_SHORT"),
        ({"error": "boom"}, 74, "TURN_FAILED"),
        ({"die": 3}, 74, "TURN_FAILED"),
    ],
)
def test_the_exit_status_follows_the_turn(scene, step, exit_code, code):
    scene.user(voice="acp")

    outcome = scene("prompt", "scripted", "--prompt", steps({"say": "well"}, step))

    assert (outcome.exit_code, outcome.error["code"]) == (exit_code, code)
    assert len(outcome.of("turn-end")) == 1
    assert outcome.of("text-delta")[0]["text"] == "well"


def test_the_events_that_our_schema_must_not_name_are_there_all_the_same(scene):
    scene.user()

    outcome = scene("prompt", "scripted", "--prompt", steps({"error": "boom"}))

    assert outcome.of("error")[0]["error"]["message"] == "boom"
    assert outcome.error["agent_code"] == "provider_error"


def test_a_turn_that_takes_too_long_is_cancelled_and_ends_as_timeout(scene):
    scene.user()

    outcome = scene("prompt", "scripted", "--prompt", steps({"say": "a"}, {"hang": True}), "--timeout", "15")

    assert (outcome.exit_code, outcome.error["code"]) == (124, "TURN_TIMEOUT")
    assert outcome.of("turn-end")[0]["reason"] == "timeout"
    assert scene.session()["status"] in ("exited", "killed")


def test_the_time_is_up_also_for_one_that_reads_slower_than_the_agent_writes(scene):
    scene.user(script={"cancel": "ignore"})
    said = steps({"flood": 20_000, "size": 50}, {"hang": True})

    def attempt(deadline):
        with scene.running(
            "prompt", "scripted", "--prompt", said, "--timeout", f"{deadline + 1:g}"
        ) as process:
            while (first := process.event())["type"] not in ("text-delta", "aoi:summary"):
                pass
            if first["type"] == "text-delta":  # nothing more is read until the turn is over
                words = ("logs", first["sessionId"], "--after", "20000", "--limit", "100")
                eventually(lambda: scene(*words).of("turn-end"), "the end of the turn")
            return process.finish()

    outcome = in_time(attempt, lambda outcome: outcome.of("text-delta"))

    assert (outcome.exit_code, outcome.error["code"]) == (124, "TURN_TIMEOUT")
    assert outcome.of("aoi:warning")[0]["code"] == "EVENTS_LEFT_OUT"
    assert outcome.of("turn-end")[0]["reason"] == "timeout"
    assert len(outcome.of("text-delta")) < 20_000


def test_an_agent_that_is_not_ready_in_time_is_a_timeout_too(scene):
    scene.user(script={"start": [{"mute": True}]})

    outcome = scene("prompt", "scripted", "--prompt", "x", "--timeout", "3")

    assert outcome.exit_code == 124
    assert outcome.error["code"] in ("START_TIMEOUT", "HANDSHAKE_TIMEOUT")


def test_control_c_cancels_the_turn_and_leaves_no_agent_behind(scene, tmp_path):
    scene.user()
    pid_file = tmp_path / "pid"
    said = steps({"say": "a"}, {"grandchild": 60, "pid_file": str(pid_file)}, {"hang": True})

    with scene.running("prompt", "scripted", "--prompt", said) as process:
        process.event("text-delta")
        eventually(lambda: pid_file.exists() and pid_file.read_text().strip(), "the grandchild")
        process.signal(signal.SIGINT)
        outcome = process.finish()

    assert outcome.exit_code == 130
    assert outcome.summary["reason"] == "interrupted"
    eventually(lambda: not alive(int(pid_file.read_text())), "the end of the grandchild")
    assert scene.session()["status"] in ("exited", "killed")
    ends = [event["reason"] for event in scene("logs", outcome.summary["session"]).of("turn-end")]
    assert ends == ["cancelled"]


def test_every_wrong_choice_is_told_at_once_and_nothing_is_started(scene):
    options = [
        {"id": "depth", "type": "integer", "min": 1, "max": 9, "bin_args_template": ["--depth", "{value}"]}
    ]
    folder = scene.user(modes=[{"id": "plan"}], options=options)

    outcome = scene(
        "prompt", "scripted", "--prompt", "x", "--mode", "nope", "--option", "depth=99", "--option", "x=1"
    )

    assert outcome.exit_code == 64
    told = json.dumps(outcome.error)
    assert all(word in told for word in ("nope", "depth", "'x'"))
    assert not (folder / "calls").exists()


@pytest.mark.parametrize("verb", [["prompt", "--prompt", "x"], ["chat", "--messages", "messages"]])
@pytest.mark.parametrize("how", ["name", "path", "workspace"])
def test_an_unknown_mode_or_option_names_the_command_that_lists_them_as_it_was_called(scene, verb, how):
    if how == "workspace":
        (scene.work / "a folder").mkdir()
    folder = scene.user(modes=[{"id": "plan", "description": "Plans only."}])
    (scene.work / "messages").write_text("x\n")
    given = {
        "name": ["scripted"],
        "path": [str(folder / "AGENT-CLI.md")],
        "workspace": ["scripted", "--workspace", "a folder"],
    }[how]

    outcome = scene(*verb, *given, "--mode", "nope", "--option", "x=1")

    hints = [problem["hint"] for problem in outcome.error["problems"]]
    assert outcome.error["hint"] == hints[0]
    assert [hint.partition(";")[0] for hint in hints] == ["known: plan", "known: none"]
    for hint in hints:
        typed = shlex.split(hint.partition("to see what each does: ")[2])
        assert typed == ["operable", "agent", "show", *given]
        shown = scene(*typed[2:], output=None)
        assert (shown.exit_code, "plan  Plans only." in shown.stdout.decode()) == (0, True)


def test_a_rule_that_cannot_be_enforced_names_the_agent_as_it_was_called(scene):
    folder = scene.user(metadata={"operable": {"unasked_kinds": ["execute"]}})
    path = str(folder / "AGENT-CLI.md")

    outcome = scene("prompt", path, "--prompt", "x", "--deny", "execute:rm *")

    assert (outcome.exit_code, outcome.error["code"]) == (77, "AGENT_NEVER_ASKS")
    assert "deny execute:rm *" in outcome.error["message"]
    assert outcome.error["hint"].endswith(f"its modes: operable agent show {path}")
    assert "remove deny execute:rm * and add --allow kind:execute" in outcome.error["hint"]
    assert scene("prompt", path, "--prompt", "x", "--allow", "kind:execute").exit_code == 0


MODEL = {"id": "model", "type": "string", "bin_args_template": ["--model", "{value}"]}


@pytest.mark.parametrize("words", [["--model", "huge"], ["--option", "model=huge"]])
def test_a_model_that_the_manifest_does_not_list_is_refused_before_the_agent_starts(scene, words):
    folder = scene.user(models={"allowed": ["small", "large"]}, options=[MODEL])

    outcome = scene("prompt", "scripted", "--prompt", "x", *words)

    assert (outcome.exit_code, outcome.error["code"]) == (64, "MODEL_NOT_ALLOWED")
    assert outcome.error["hint"] == "known: small, large"
    assert outcome.of("aoi:warning") == []
    assert not (folder / "calls").exists()
    assert scene("prompt", "scripted", "--prompt", "x", "--model", "small").of("aoi:warning") == []


@pytest.mark.parametrize("words", [["--model", "huge"], ["--option", "model=huge"]])
def test_a_model_of_a_manifest_that_lists_none_is_passed_on_and_that_is_said(scene, words):
    folder = scene.user(options=[MODEL])

    outcome = scene("prompt", "scripted", "--prompt", "x", *words)

    assert outcome.exit_code == 0
    assert calls(folder)[0]["argv"] == ["--model", "huge"]
    (warning,) = outcome.of("aoi:warning")
    assert warning["code"] == "MODEL_UNCHECKED"
    assert warning["message"] == "the manifest of scripted lists no models: huge is passed on unchecked"


def test_options_reach_the_agent_in_the_types_of_its_manifest(scene):
    options = [
        {"id": "depth", "type": "integer", "bin_args_template": ["--depth", "{value}"]},
        {"id": "loud", "type": "boolean", "bin_args_append_when_true": ["--loud"]},
    ]
    modes = [{"id": "plan", "bin_args_append": ["--plan"]}]
    folder = scene.user(options=options, modes=modes)

    words = ["--option", "depth=3", "--option", "loud=true", "--mode", "plan"]
    outcome = scene("prompt", "scripted", "--prompt", "x", *words)

    assert outcome.exit_code == 0, outcome
    assert calls(folder)[0]["argv"] == ["--plan", "--depth", "3", "--loud"]


@requirement("aip45:setup:headless")
def test_what_must_be_set_up_first_is_an_error_with_the_open_steps(scene):
    setup = [{"id": "colour", "kind": "prompt", "prompt": "Which colour?"}]
    scene.user(setup=setup)

    outcome = scene("prompt", "scripted", "--prompt", "x")

    assert (outcome.exit_code, outcome.error["code"]) == (78, "SETUP_REQUIRED")
    assert outcome.error["aip_code"] == "setup_required"
    assert [step["id"] for step in outcome.error["pending"]] == ["colour"]


def test_a_manifest_that_came_with_a_project_is_refused_until_it_is_approved(scene):
    folder = scene.project()

    refused = scene("prompt", "scripted", "--prompt", "x")
    assert (refused.exit_code, refused.error["code"]) == (77, "MANIFEST_NOT_APPROVED")
    assert not (folder / "calls").exists()

    assert scene("approve", "scripted", "--digest", refused.error["digest"]).exit_code == 0
    assert scene("prompt", "scripted", "--prompt", "x").exit_code == 0


def test_an_earlier_session_is_taken_up_by_our_id_of_it(scene):
    scene.user(capabilities={"resumable": True})
    first = scene("prompt", "scripted", "--prompt", "x")

    again = scene("prompt", "scripted", "--prompt", "y", "--resume", first.summary["session"][:12])

    assert again.exit_code == 0, again
    assert again.summary["agent_session_id"] == first.summary["agent_session_id"]
    assert again.summary["session"] != first.summary["session"]


def test_with_the_strategy_transcript_the_earlier_words_stand_before_the_message(scene):
    scene.user(continuation={"default": "none", "supported": ["none", "transcript"]})
    first = scene("prompt", "scripted", "--prompt", "first")

    words = ["--resume", first.summary["session"], "--continuation", "transcript"]
    outcome = scene("prompt", "scripted", "--prompt", "second", *words)

    said = outcome.of("text-delta")[0]["text"]
    assert "[user] first\n[agent] You said: first\n" in said
    assert said.endswith("second")


@requirement("aip45:continuation:transcript")
def test_a_record_does_not_grow_into_the_next_one(scene):
    scene.user(continuation={"default": "none", "supported": ["none", "transcript"]})
    outcome = scene("prompt", "scripted", "--prompt", "first")
    for text in ("second", "third"):
        words = ["--resume", outcome.summary["session"], "--continuation", "transcript"]
        outcome = scene("prompt", "scripted", "--prompt", text, *words)

    # The scripted agent says what it was told: its words hold a record, those of the user do not.
    said = outcome.of("text-delta")[0]["text"]
    assert "[user] second\n" in said
    assert "[user] <conversation-so-far>" not in said


def test_a_strategy_that_the_manifest_does_not_support_is_refused(scene):
    scene.user()

    outcome = scene("prompt", "scripted", "--prompt", "x", "--continuation", "transcript")

    assert outcome.exit_code == 64
    assert "CONTINUATION_UNSUPPORTED" in json.dumps(outcome.error)


@requirement("aip45:security:output-untrusted")
def test_people_see_the_answer_on_stdout_and_everything_else_beside_it(scene):
    scene.user()
    said = steps(
        {"call": "Read", "kind": "read", "args": {"path": "a\u001b[2Jb"}, "fail": "no such file"},
        {"say": "Hello \u001b[2J world"},
    )

    outcome = scene("prompt", "scripted", "--prompt", said, output=None)

    assert outcome.stdout.decode() == "Hello ·[2J world\n"
    assert "● Read" in outcome.stderr
    assert "\n  ✗ " in outcome.stderr
    assert "\u001b" not in outcome.stderr


def test_a_question_that_waits_is_shown_whole_with_the_digest_of_what_was_shown(scene):
    scene.user()
    (scene.work / "short.toml").write_text('ask = ["*"]\nask_timeout = 1\n')
    line = f"ls {'a' * 300}; rm hidden"
    said = steps({"call": "Bash", "kind": "execute", "args": {"command": line}, "ask": True, "denied": []})

    outcome = scene(
        "prompt", "scripted", "--policy", str(scene.work / "short.toml"), "--prompt", said, output=None
    )

    assert f"\n  $ {line}\n" in outcome.stderr
    assert re.search(
        r"waits for: operable agent answer \S+ \S+ --allow --digest sha256:[0-9a-f]{64} ", outcome.stderr
    )


def touching(path):
    return steps(
        {"call": "Edit", "kind": "edit", "args": {"path": str(path)}, "touch": str(path)}, {"say": "done"}
    )


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize("sandbox", ["bubblewrap", "none", None])
def test_a_sandbox_holds_whatever_the_rules_allow_and_without_one_people_are_told(scene, tmp_path, sandbox):
    scene.user()
    chosen = () if sandbox is None else ("--sandbox", sandbox)
    inside, outside = scene.work / "inside", tmp_path / "outside"
    for path in (inside, outside):
        outcome = scene("prompt", "scripted", "--prompt", touching(path), "--allow", "*", *chosen)
        assert outcome.summary["sandbox"] == (sandbox or "none")
    assert inside.exists()
    assert outside.exists() == (sandbox != "bubblewrap")
    people = scene("prompt", "scripted", "--prompt", touching(inside), "--allow", "*", *chosen, output=None)
    loud = "no sandbox: the agent runs with all your rights (--sandbox bubblewrap confines it)"
    assert (loud in people.stderr) == (sandbox is None)


def test_a_sandbox_that_does_not_exist_is_refused_before_anything_runs(scene, tmp_path):
    scene.user()
    outcome = scene(
        "prompt", "scripted", "--prompt", touching(tmp_path / "t"), "--allow", "*", "--sandbox", "cellophane"
    )
    assert (outcome.exit_code, outcome.error["code"]) == (78, "SANDBOX_PROVIDER_UNKNOWN")
    assert "bubblewrap" in outcome.error["hint"]
    assert outcome.error["hint"].endswith(", none.")
    assert not (tmp_path / "t").exists()


@pytest.mark.needs("bwrap")
def test_an_agent_in_an_editable_installation_below_tmp_runs_in_a_sandbox(scene, tmp_path):
    """The documented parrot: python3 of an environment whose packages lie in a checkout, where the sandbox has its own /tmp."""
    checkout, environment = tmp_path / "checkout", tmp_path / "environment"
    shutil.copytree(SOURCE, checkout / "operable", ignore=shutil.ignore_patterns("__pycache__"))
    venv.create(environment, symlinks=True)
    (packages,) = environment.glob("lib/python3*/site-packages")
    (packages / "editable.pth").write_text(f"{checkout}\n{sysconfig.get_path('purelib')}\n")
    folder = scene.user("parrot")
    (folder / "AGENT-CLI.md").write_text(PARROT)

    outcome = scene(
        *("prompt", "parrot", "--prompt", "Hello", "--sandbox", "bubblewrap"),
        env={"PATH": f"{environment}/bin:{os.environ['PATH']}"},
    )

    assert outcome.exit_code == 0, outcome
    assert "".join(event["text"] for event in outcome.of("text-delta")) == "You said: Hello"
    assert outcome.summary["sandbox"] == "bubblewrap"


def at_a_terminal(scene, *words):
    said = steps({"call": "Bash", "kind": "execute", "args": {"command": "ls"}, "ask": True}, {"say": "ran"})
    options = {"tool": PROGRAM, "env": scene.env}
    return terminal(
        "agent", "prompt", "scripted", "--workspace", str(scene.work), "--prompt", said, *words, **options
    )


def test_a_question_at_the_terminal_ends_when_it_is_answered_elsewhere(scene):
    scene.user()

    with at_a_terminal(scene, "--ask", "*") as person:
        person.read_until("Allow it?")
        assert "$ ls" in person.screen
        question = scene("approvals").of("agent_question")[0]
        assert scene("answer", question["session"], question["question"], "--allow").exit_code == 0
        person.read_until("answered elsewhere")
        person.read_until("ran")
        outcome = person.finish()

    assert outcome.exit_code == 0, outcome


def test_a_question_at_the_terminal_ends_when_its_time_is_over(scene):
    scene.user()
    (scene.work / "short.toml").write_text('ask = ["*"]\nask_timeout = 1\n')

    with at_a_terminal(scene, "--policy", str(scene.work / "short.toml")) as person:
        person.read_until("Allow it?")
        person.read_until("its time is over")
        outcome = person.finish()

    assert outcome.exit_code == 0, outcome
    record = next(each for each in scene("audit").results if each["action"] == "agent.decision")
    assert record["decision"] == "deny"
