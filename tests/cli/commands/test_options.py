"""Every option of the commands that have no table of their own does something, and that is seen: here, or where it says."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from operable.testing.models import ModelServer
from tests.app.making import made
from tests.cli.drive import BIN, PROGRAM, operable
from tests.cli.options import Table, commands
from tests.run.fake import HITS, tool
from tests.serve.world import World
from tests.tool.drive import Outcome

pytestmark = pytest.mark.timeout(300)


class Place:
    """A project folder and a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        (self.work / ".git").mkdir(parents=True)
        self.env = {"OPERABLE_HOME": str(folder / "home"), "HOME": str(folder), "NO_PROXY": "127.0.0.1"}

    def __call__(self, *words: str, **options: Any) -> Outcome:
        env = self.env | options.pop("env", {})
        return operable(words[0], *words[1:], env=env, cwd=self.work, **options)


# The commands below these words have tables beside their own tests.
ELSEWHERE = ("agent ", "engine ", "flow ", "rpc")
TABLE = Table[Place](
    {
        name: command
        for name, command in commands("operable.cli.commands").items()
        if not name.startswith(ELSEWHERE)
    }
)
effect, seen = TABLE.effect, TABLE.seen
RUN, RECORD = "cli/commands/test_run.py::test_", "cli/commands/test_record.py::test_"
REPLAY, CHECK = "cli/commands/test_replay.py::test_", "cli/commands/test_check.py::test_"
ENGINE, CHAT = "lint/test_engine.py::test_", "cli/commands/test_chat.py::test_"
GATE = "cli/gate/test_commands.py::test_"
MCP, APP = "serve/test_mcp.py::test_", "cli/commands/app/test_app.py::test_"


# -- calls of tools

PARTIAL = 'meta(); emit("hit")\nemit("aoi:error", category="io", code="LOST", message="one", retryable=False)\nsummary(False, partial=True, error_count=1); sys.exit(65)'
COPY = 'for line in sys.stdin: pass\nmeta(); emit("env", names=sorted(os.environ), words=sys.argv[1:]); summary()'
CALLS = "pipe,record"


def called(place: Place, body: str, *words: str, env: dict[str, str] | None = None) -> list[Outcome]:
    """The same tool behind `pipe` and `record`."""
    path, copy = tool(place.work, body), tool(place.work, COPY, "copy")
    kept = place.work / "kept"
    kept.unlink(missing_ok=True)
    return [
        place("pipe", *words, "--", path, ":::", copy, env=env or {}),
        place("record", "--to", str(kept), *words, "--", path, env=env or {}),
    ]


seen("run", "--validate", by=RUN + "a_tool_is_held_to_its_own_schema_when_that_was_asked_for")
seen("run", "--accept-partial", by=RUN + "warnings_and_errors_of_the_tool_pass_and_are_counted")
seen("run", "--unbounded", by=RUN + "an_unbounded_stream_needs_no_summary_when_we_say_so")
seen("run", "--exact", by=RUN + "a_tool_is_put_into_machine_mode_unless_it_is_called_exactly")
seen("run", "--inherit", "--env", by=RUN + "the_environment_is_what_was_named")
INSTALLED = "app/test_installation.py::test_"
seen("app add,app update", "--revision", by=INSTALLED + "an_application_comes_from_a_tag_of_a_repository")
SIGNED = INSTALLED + "signed_packages_are_known_and_are_not_replaced_by_others"
seen("app add", "--signed", by=SIGNED)
seen("app sign", "--key", by=SIGNED)
CONFIG = "cli/commands/config/test_config.py::test_"
seen("config approve", "--digest", by=CONFIG + "an_approval_of_something_else_is_refused")
CONFIG_ELSEWHERE = CONFIG + "another_folder_is_shown_approved_and_revoked_by_its_path"
seen("config approve,config revoke,config show", "--workspace", by=CONFIG_ELSEWHERE)
seen("pipe", "--separator", by="cli/commands/test_pipe.py::test_the_separator_can_be_chosen")
seen("record", "--force", by=RECORD + "a_file_is_not_overwritten_without_being_told_to")
seen("record", "--to", by=RECORD + "a_failing_tool_is_recorded_too_and_its_verdict_followed")
seen("record", "--no-redact", by=RECORD + "secrets_are_not_kept_unless_that_was_asked_for")
seen("replay", "--speed", by=REPLAY + "it_keeps_the_pace_and_can_be_hurried")
seen("replay", "--no-wait", by=REPLAY + "the_bytes_are_those_of_the_tool_in_every_mode")
seen("check", "--exit-status", by=CHECK + "what_is_wrong_is_told_with_its_line_and_its_exit_status")
seen("check", "--accept-partial", by=CHECK + "partial_results_are_good_enough_when_accepted")
seen("run", "--strict", by=RUN + "a_doubt_about_a_stream_is_a_failure_when_strict")
seen("check", "--strict", by=CHECK + "a_doubt_about_a_stream_is_a_failure_when_strict")
seen("check", "--unbounded", by=CHECK + "an_unbounded_stream_needs_no_summary")
seen("check", "--schema", "--tool", by=CHECK + "events_are_held_to_a_schema")
seen("diff", "--fail-on", by="cli/commands/test_diff.py::test_the_level_decides_the_exit_status")


@effect(CALLS, "--validate")
def _(place: Place) -> None:
    plain, held = called(place, HITS), called(place, HITS, "--validate")
    assert [outcome.exit_code for outcome in plain] == [0, 0]
    assert [(each.exit_code, each.error["code"]) for each in held] == [(78, "SCHEMA_UNAVAILABLE")] * 2


@effect(CALLS, "--accept-partial")
def _(place: Place) -> None:
    for words, status in (((), 65), (("--accept-partial",), 0)):
        assert [outcome.exit_code for outcome in called(place, PARTIAL, *words)] == [status] * 2, words


@effect(CALLS, "--strict")
def _(place: Place) -> None:
    for words, status in (((), 0), (("--strict",), 65)):
        found = [outcome.exit_code for outcome in called(place, "meta(); summary(count=7)", *words)]
        assert found == [status] * 2, words


@effect(CALLS, "--unbounded")
def _(place: Place) -> None:
    for words, status in (((), 65), (("--unbounded",), 0)):
        found = [outcome.exit_code for outcome in called(place, "meta(); emit('hit')", *words)]
        assert found == [status] * 2, words


@effect(CALLS, "--exact", "--inherit", "--env")
def _(place: Place) -> None:
    chosen = ("--exact", "--inherit", "CHOSEN", "--env", "GIVEN=this")
    for words, expected in (((), {"CHOSEN", "OTHER"}), (chosen, {"CHOSEN", "GIVEN"})):
        for outcome in called(place, COPY, *words, env={"CHOSEN": "c", "OTHER": "o"}):
            (event,) = outcome.of("env")
            assert {"CHOSEN", "GIVEN", "OTHER"} & set(event["names"]) == expected, outcome
            assert event["words"] == ([] if words else ["--output", "jsonl"])


# -- lint

seen("lint", "--fail-on", by=ENGINE + "advice_fails_only_with_fail_on_should")
seen("lint", "--baseline", "--save-baseline", by=ENGINE + "a_baseline_lets_known_failures_pass_and_only_them")


seen(
    "lint",
    "--no-confine",
    by="cli/commands/test_options.py::test_a_lint_without_a_sandbox_lets_the_tool_write",
)


@pytest.mark.needs("bwrap")
def test_a_lint_without_a_sandbox_lets_the_tool_write(tmp_path):
    place, outside = Place(tmp_path), tmp_path / "outside"
    attempt = f"try: open({str(outside)!r}, 'w').close()\nexcept OSError: pass\n"
    path = tool(place.work, attempt + HITS)
    place("lint", path, "--only", "1")
    assert not outside.exists()
    place("lint", path, "--only", "1", "--no-confine")
    assert outside.exists()


@effect("lint", "--only", "--skip", "--command", "--profile", "--report", "--jobs", "--patience")
def _(place: Place) -> None:
    path = tool(place.work, HITS)

    def linted(*words: str) -> set[int]:
        return {each["check"] for each in place("lint", path, *words).of("finding")}

    one = ("--only", "1")
    assert linted(*one) == {1}
    assert linted(*one, "--jobs", "1") == {1}
    assert linted(*one, "--only", "3", "--skip", "1") == set()
    refused = place("lint", path, *one, "--command", "absent")
    assert "absent" in json.dumps(refused.events)
    assert place("lint", path, *one, "--profile", "absent.toml").exit_code == 64
    for words in (("--jobs", "-1"), ("--patience", "0"), ("--patience", "-1")):
        refused = place("lint", path, *one, *words)
        assert (refused.exit_code, refused.error["target"]) == (64, words[0])
    place("lint", path, *one, "--report", "json=report.json")
    assert json.loads((place.work / "report.json").read_text())


# -- the gate of every call

seen("policy show", "--caller", by=GATE + "without_a_file_the_built_in_rules_are_shown")
seen("policy test", "--caller", "--arg", "--command", "--effect", "--workspace", by=GATE + "a_call_is_tried_without_running_anything")  # fmt: skip
seen("inbox answer", "--allow", "--deny", "--reason", "--digest", by=GATE + "questions_of_calls_are_listed_and_answered_several_at_once")  # fmt: skip
seen(
    "inbox answer",
    "--option",
    by=GATE + "a_question_of_an_agent_is_answered_with_one_of_its_options",
)
seen("audit list", "--workspace", "--after", "--calls", "--caller", by=GATE + "records_are_listed_by_caller_and_from_a_number_on")  # fmt: skip
seen("audit verify", "--workspace", "--anchor", "--key", by=GATE + "records_are_listed_by_caller_and_from_a_number_on")  # fmt: skip


UPSTREAM = "host/upstream/test_upstream.py::test_"
seen("upstream add", "--env", by=UPSTREAM + "a_server_is_registered_once_listed_called_and_removed")
seen("upstream add", "--trust-hints", by=UPSTREAM + "that_a_tool_only_reads_is_not_believed_unless_the_user_says_so")  # fmt: skip
seen("upstream add", "--url", "--header", by=UPSTREAM + "what_cannot_be_meant_is_refused_before_anything_is_reached")  # fmt: skip


# -- the catalogue, as a list, by its calls and as a server

CALL = "cli/commands/test_call.py::test_"
seen("call", "--input", by=CALL + "arguments_come_from_a_file_or_from_standard_input")
seen("call", "--workspace", by=CALL + "the_things_of_another_project_are_named_by_its_folder")

SERVED = "serve/acp/test_editor.py::test_"
seen("serve", "--acp", by=SERVED + "an_agent_that_nothing_is_called_and_a_folder_that_is_none_are_refused")
seen(
    "serve",
    "--hook",
    by="serve/test_hooks.py::test_a_question_reaches_the_receiver_of_the_guide_and_a_command",
)
seen(
    "serve",
    "--hooks",
    by="serve/test_hooks.py::test_a_daemon_does_not_start_with_hooks_or_keys_that_it_cannot_use",
)
seen("mcp", "--only", by=MCP + "how_a_command_of_an_application_is_used_is_told")
seen("mcp", "--allow-destructive", by=MCP + "enabled_it_needs_a_yes_for_each_call")
seen("mcp", "--command", "--without", by=MCP + "commands_are_chosen_by_patterns")
seen("mcp", "--tools", by=MCP + "three_tools_stand_for_a_large_catalog")
seen(
    "mcp",
    "--sessions",
    by="serve/test_mcp_gateway.py::test_a_client_over_stdio_starts_sessions_that_end_with_the_server",
)
seen("mcp", "--read-only", by=MCP + "a_server_that_only_reads_offers_nothing_else")
seen("mcp", "--http", "--host", by=MCP + "another_address_than_loopback_is_refused")
seen("mcp", "--port", by="cli/test_start.py::test_a_port_that_is_none_is_the_callers_mistake")


@effect("mcp", "--kind", "--workspace")
@effect("catalog", "--kind", "--workspace", "--healthy")
def _(place: Place) -> None:
    world = World(place.folder / "world")
    env = world.env
    made(world.project / "apps" / "strange")
    there = ("--workspace", str(world.project))

    def listed(*words: str) -> set[tuple[str, str]]:
        return {(each["kind"], each["name"]) for each in place("catalog", *words, env=env).of("operable")}

    kinds = ("--kind", "app", "--kind", "tool")
    assert {("app", "todo"), ("app", "strange"), ("tool", "bench")} <= listed(*kinds, *there)
    assert {name for _, name in listed("--kind", "app", *there)} == {"todo", "strange"}
    assert listed("--kind", "app") == set()
    assert listed("--kind", "app", "--healthy", *there) == {("app", "todo")}

    def served(*words: str) -> set[str]:
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        lines: list[dict[str, Any]] = [
            {"id": 1, "method": "initialize", "params": hello},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/list"},
        ]
        said = "".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines)
        with subprocess.Popen(
            [PROGRAM, "mcp", *words],
            env=os.environ | place.env | env,
            cwd=place.work,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as server:
            try:
                assert server.stdin is not None
                assert server.stdout is not None
                server.stdin.write(said)
                server.stdin.flush()
                for line in server.stdout:
                    answer = json.loads(line)
                    if answer.get("id") == 2:
                        return {each["name"].partition("_")[0] for each in answer["result"]["tools"]}
            finally:
                server.kill()
        raise AssertionError("the server has ended")

    assert served(*kinds, *there) >= {"todo", "bench"}
    assert not served("--kind", "tool", *there) & {"todo", "strange"}
    assert "todo" not in served(*kinds)


# -- the built-in agent

seen("chat", "--auto-approve", "--allow", "--mode", by=CHAT + "what_was_allowed_beforehand_is_done")
seen("chat", "--session-id", "--resume", "--no-session", by=CHAT + "a_conversation_is_taken_up_again")
seen("chat", "--offline", by=CHAT + "people_get_the_answer_on_stdout_and_nothing_else_there")


@effect(
    "chat", "--provider", "--model", "--base-url", "--max-tokens", "--thinking", "--system-prompt", "--effort"
)
def _(place: Place) -> None:
    with ModelServer() as models:
        words = (
            *("--provider", "anthropic", "--base-url", models.url, "--model", "claude-sonnet-4-5"),
            *("--max-tokens", "2048", "--system-prompt", "Speak as a pirate.", "hello"),
        )
        done = place("chat", "--thinking", *words, env={"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"})
        assert done.exit_code == 0, done
        place("chat", *words, env={"ANTHROPIC_API_KEY": "k"})
        first, second = (each for each in models.exchanges if not each.aside)
    assert (first.dialect, first.body["model"]) == ("anthropic", "claude-sonnet-4-5")
    assert second.body["max_tokens"] == 2048
    assert "Speak as a pirate." in json.dumps(first.body["system"])
    assert ("thinking" in first.body, "thinking" in second.body) == (True, False)
    refused = place("chat", "--offline", "--effort", "nonsense", "hello")
    assert refused.exit_code != 0


@effect("chat", "--max-turns")
def _(place: Place) -> None:
    again = "script:\n" + 'call Bash {"command": "echo x >> rounds"}\nsay .\n' * 4 + "say done"
    counts = []
    for words in ((), ("--max-turns", "2")):
        (place.work / "rounds").unlink(missing_ok=True)
        place("chat", "--offline", "--auto-approve", *words, again)
        counts.append(len((place.work / "rounds").read_text().splitlines()))
    assert counts == [4, 2]


@effect("chat", "--workspace", "--sandbox")
def _(place: Place) -> None:
    inside, outside = place.folder / "inside", place.folder / "outside"
    inside.mkdir()
    call = f'script:\ncall Bash {{"command": "touch here; touch {outside}"}}\nsay done'
    words = ("chat", "--offline", "--auto-approve", "--workspace", str(inside))
    place(*words, call)
    assert ((inside / "here").exists(), outside.exists()) == (True, False)
    place(*words, "--sandbox", "none", call)
    assert outside.exists()


@effect("chat", "--tool", "--app")
def _(place: Place) -> None:
    made(place.work / "apps" / "todo")
    assert place("app", "approve", "todo").exit_code == 0
    for words, called_tool in (
        (("--tool", str(BIN / "outline")), "outline_list"),
        (("--app", "todo"), "todo_list"),
    ):
        script = f"script:\ncall {called_tool} {{}}\nsay done"
        results = [
            place(
                "chat", "--offline", "--auto-approve", *given, script, env={"OUTLINE_HOME": str(place.folder)}
            ).of("tool-result")[0]["result"]
            for given in ((), words)
        ]
        assert "nknown tool" in json.dumps(results[0]), results
        assert "nknown tool" not in json.dumps(results[1]), results


@effect("chat", "--thoughts")
def _(place: Place) -> None:
    for words, shown in (((), False), (("--thoughts",), True)):
        done = place("chat", "--offline", *words, "script:\nthink let me see\nsay so", output=None)
        assert ("let me see" in done.stdout.decode() + done.stderr) == shown, done


# -- applications, drafts

seen("app approve", "--revoke", "--digest", by=APP + "approve_shows_its_plan_pins_and_revokes")
WRAPPED = "cli/commands/wrap/test_installation.py::test_"
seen("wrap add,wrap update", "--revision", by=WRAPPED + "an_update_of_a_repository_shows_the_difference")
seen("wrap add", "--signed", by=WRAPPED + "what_it_may_do_is_shown_and_it_is_there_after_a_yes")
seen("app call", "--confirm", by=APP + "confirmation_is_asked_for_before_anything_runs")
seen("app call", "--stdin", by=APP + "a_command_reads_what_it_is_given")
seen("app inspect", "--resource", by=APP + "inspect_gives_the_text_the_skills_and_the_digest")
seen("init app", "--to", by="cli/commands/init/test_app.py::test_a_dry_run_writes_nothing_and_a_run_writes_a_package_that_conforms")  # fmt: skip
seen("init tool", "--to", by="cli/commands/init/test_tool.py::test_a_dry_run_writes_nothing_and_a_run_writes_a_tool_whose_tests_pass")  # fmt: skip
seen(
    "init client",
    "--to",
    by="cli/commands/init/test_client.py::test_a_tool_that_says_nothing_and_a_module_that_is_there_are_refused",
)
seen("init skill", "--to", by="cli/commands/init/test_skill.py::test_a_skill_has_each_command_with_its_words_and_what_it_risks")  # fmt: skip
seen("init wrap", "--to", by="cli/commands/init/test_wrap.py::test_a_draft_is_planned_then_written_and_never_over_another")  # fmt: skip


@effect("app approve,app call,app inspect,app list,app schedules", "--workspace")
@effect("app list", "--source")
def _(place: Place) -> None:
    other = place.folder / "other"
    (other / ".git").mkdir(parents=True)
    made(other / "apps" / "one")
    there = ("--workspace", str(other))
    assert place("app", "list").results == []
    assert [each["slug"] for each in place("app", "list", *there).results] == ["one"]
    assert place("app", "list", "--source", "user", *there).results == []
    assert place("app", "list", "--source", "project", *there).results != []
    for verb in ("inspect", "approve"):
        assert place("app", verb, "one").exit_code != 0, verb
        assert place("app", verb, "one", *there).exit_code == 0, verb
    absent, found = (place("app", "schedules", "one", *words).error["code"] for words in ((), there))
    assert absent != found == "SCHEDULING_NOT_SUPPORTED"
    assert place("app", "call", "--", "one", "list").exit_code != 0
    assert place("app", "call", *there, "--", "one", "list").exit_code == 0


@effect("app approve", "--shell")
def _(place: Place) -> None:
    made(
        place.work / "apps" / "one",
        entry=f"true && {sys.executable} app/cli.py",
        more="metadata: {operable: {shell: true}}",
    )
    place("app", "approve", "one")
    assert place("app", "call", "--", "one", "list").exit_code != 0
    assert place("app", "approve", "one", "--shell").exit_code == 0
    assert place("app", "call", "--", "one", "list").exit_code == 0


SERVE, SESSIONS = "serve/http/test_app.py::test_", "cli/commands/test_sessions.py::test_"
seen("serve", "--listen", "--insecure-listen", by=SERVE + "a_flag_lets_other_machines_reach_it_without_tls")
seen(
    "serve", "--tls-cert", "--tls-key", "--name", by=SERVE + "with_a_certificate_it_speaks_tls_under_its_name"
)
seen(
    "serve",
    "--link",
    by="serve/routes/test_page.py::test_another_login_link_can_be_had_while_the_daemon_runs",
)
seen(
    "sessions",
    "--search",
    "--state",
    "--workspace",
    by=SESSIONS + "sessions_are_listed_by_pages_with_what_they_used",
)
seen(
    "sessions",
    "--watch",
    by=SESSIONS + "one_that_waits_for_an_answer_needs_you_and_is_watched_until_it_has_one",
)
seen(
    "sessions", "--attach", "--after", by=SESSIONS + "following_goes_on_behind_a_number_and_stops_at_a_limit"
)


def test_every_option_has_an_effect_that_is_seen():
    assert TABLE.gaps() == []


@pytest.mark.parametrize("check", TABLE.parameters())
def test_the_option_has_an_effect(check, tmp_path):
    check(Place(tmp_path))
