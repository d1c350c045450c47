"""`operable app …` as a process, for people and for machines."""

import json

import pytest

from tests.app.making import made
from tests.cli.drive import operable
from tests.requirement import requirement
from tests.tool.drive import in_time

META = '{"type":"aoi:meta","tool":"t","tool_version":"1","aoi_version":"0.2","schema_name":"s","schema_version":"1.0.0"}'
LIST = 'say({"ok": True, "count": 3, "items": [{"id": "a"}, {"id": "b"}, {"id": "c"}]})'


@pytest.fixture
def world(tmp_path):
    """A project, and `app` as a function that runs in it."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    home = {"OPERABLE_HOME": str(tmp_path / "home")}

    def app(*words, **options):
        return operable("app", *words, cwd=project, env=home, **options)

    app.root = project  # type: ignore[attr-defined]
    return app


def approved(world, program, **parts):
    root = made(world.root / "apps" / "one", program, **parts)
    assert world("approve", "one").exit_code == 0
    return root


@requirement("appmd:confirmation:visible", "appmd:discovery:places")
def test_list_says_what_there_is_and_what_needs_confirmation(world):
    made(world.root / "apps" / "one")
    made(world.root / "apps" / "two", commands="[]")
    one, two = world("list").results
    assert (one["slug"], one["source"], one["trust"]) == ("one", "project", "unapproved")
    assert one["confirmation_required"] == ["remove", "item remove"]
    assert two["problem"]
    page = world("list", "--limit", "1")
    assert [each["slug"] for each in page.results] == ["one"]
    rest = world("list", "--cursor", page.summary["next_cursor"])
    assert [each["slug"] for each in rest.results] == ["two"]
    people = world("list", output=None)
    assert "unapproved" in people.stdout.decode()
    assert "two: " in people.stderr


def test_who_finds_none_is_told_where_they_are_looked_for(world):
    shown = world("list", output=None).stderr

    assert f"looked in {world.root}/.apps, {world.root}/apps, " in shown
    assert world("list").summary["count"] == 0


def test_packages_can_be_looked_at_where_nothing_can_be_kept(world):
    made(world.root / "apps" / "one")
    nowhere = {"OPERABLE_HOME": "/proc/no-such-place"}

    (one,) = operable("app", "list", cwd=world.root, env=nowhere).results
    (details,) = operable("app", "inspect", "one", cwd=world.root, env=nowhere).results
    called = operable("app", "call", "one", "--", "list", cwd=world.root, env=nowhere)

    assert (one["trust"], details["standing"]) == ("unapproved", "never approved")
    assert called.error["code"] == "APP_NOT_APPROVED"


def test_inspect_gives_the_text_the_skills_and_the_digest(world):
    made(world.root / "apps" / "one")
    (details,) = world("inspect", "one").results
    assert (details["trusted"], details["standing"]) == (False, "never approved")
    assert details["skills"]["use"].endswith("Use it.\n")
    assert details["digest"].startswith("sha256:")
    (file,) = world("inspect", "one", "--resource", "app/cli.py").results
    assert file["size"] == len(file["text"].encode())
    assert world("inspect", "one", "--resource", "../../x").error["code"] == "OUTSIDE_PACKAGE"
    assert "may not run: never approved" in world("inspect", "one", output=None).stdout.decode()


@requirement("appmd:validate:all-at-once")
def test_validate_gives_problems_then_a_verdict(world):
    root = made(world.root / "apps" / "one", more="confirmationRequired: [nope]")
    (root / "skills" / "use" / "SKILL.md").unlink()
    outcome = world("validate", "apps/one")
    assert outcome.exit_code == 65
    assert {each["rule"] for each in outcome.of("app_problem")} == {"CONFIRMATION_UNKNOWN", "SKILL_MISSING"}
    assert all(each["line"] > 1 and each["hint"] for each in outcome.of("app_problem"))
    (verdict,) = outcome.of("app_verdict")
    assert (verdict["ok"], verdict["related"], verdict["errors"]) == (False, True, 2)
    (world.root / "APP.md").write_text("# Prose\n")
    (verdict,) = world("validate").of("app_verdict")
    assert (verdict["ok"], verdict["related"]) == (False, False)
    assert world("validate", "nowhere").error["code"] == "APP_NOT_FOUND"


@requirement("appmd:trust:approval-before-run")
def test_approve_shows_its_plan_pins_and_revokes(world):
    root = made(world.root / "apps" / "one")
    assert world("call", "one", "--", "list").error["code"] == "APP_NOT_APPROVED"
    (plan,) = world("approve", "one", "--dry-run").of("aoi:plan")
    assert (plan["left_out"], plan["shell"]) == (["app/state"], False)
    (root / "app" / "cli.py").write_text("print(1)")
    assert world("approve", "one", "--digest", plan["digest"]).error["code"] == "APP_CHANGED"
    (approval,) = world("approve", "one").results
    assert approval["approved"]
    assert world("call", "one", "--", "list").exit_code == 0
    assert world("approve", "one", "--revoke").results[0]["approved"] is False
    outcome = world("call", "one", "--", "list")
    assert (outcome.error["code"], outcome.exit_code) == ("APP_NOT_APPROVED", 77)


@requirement("appmd:decision:entries")
def test_a_plain_answer_becomes_meta_entries_and_a_summary(world):
    approved(world, LIST, more="metadata: {operable: {lists: {list: items}, reads: [list]}}")
    outcome = world("call", "one", "--", "list")
    assert [each["value"] for each in outcome.of("app_entry")] == [{"id": "a"}, {"id": "b"}, {"id": "c"}]
    assert outcome.summary["answer"] == {"ok": True, "count": 3}
    cut = world("call", "one", "--limit", "2", "--", "list")
    assert (cut.summary["count"], cut.summary["truncated"]) == (2, True)
    people = world("call", "one", "--", "list", output=None)
    assert people.stdout.decode().split()[:3] == ["ID", "a", "b"]


def test_the_answer_of_a_command_that_may_change_something_is_whole_whatever_the_limit(world):
    program = 'say({"ok": True, "removed": [str(number) for number in range(300)]})'
    approved(world, program, more="metadata: {operable: {lists: {get: removed}}}")
    outcome = world("call", "one", "--limit", "2", "--", "get")
    assert (outcome.summary["count"], outcome.summary["truncated"]) == (300, False)
    (whole,) = world("call", "one", "--", "list").of("app_entry")
    assert len(whole["value"]["removed"]) == 300


def test_a_command_reads_what_it_is_given(world):
    approved(world, 'say({"read": sys.stdin.read()})')
    (world.root / "input.txt").write_text("from a file")
    told = world("call", "one", "--stdin", "input.txt", "--", "get").of("app_entry")
    assert told[0]["value"] == {"read": "from a file"}
    told = world("call", "one", "--stdin", "-", "--", "get", input=b"from us").of("app_entry")
    assert told[0]["value"] == {"read": "from us"}
    assert world("call", "one", "--", "get", input=b"from us").of("app_entry")[0]["value"] == {"read": ""}
    assert world("call", "one", "--stdin", "none.txt", "--", "get").error["code"] == "INPUT_NOT_READABLE"


@requirement("appmd:confirmation:before-the-process", "appmd:confirmation:everywhere")
def test_confirmation_is_asked_for_before_anything_runs(world):
    root = approved(world, "open('app/state/ran', 'w').close(); say({'ok': True})")
    (root / "app" / "state").mkdir()
    outcome = world("call", "one", "--", "remove", "x")
    assert (outcome.error["code"], outcome.exit_code) == ("CONFIRMATION_REQUIRED", 64)
    assert not (root / "app" / "state" / "ran").exists()
    # A --confirm behind the -- is the application's own word, and no confirmation of ours.
    assert world("call", "one", "--", "remove", "x", "--confirm").error["code"] == "CONFIRMATION_REQUIRED"
    assert world("call", "one", "--confirm", "--", "remove", "x").exit_code == 0
    assert (root / "app" / "state" / "ran").exists()


@requirement("appmd:errors:codes-to-agents", "appmd:errors:no-internals", "appmd:stderr:diagnostics-only")
def test_people_get_the_message_and_agents_the_code(world):
    approved(
        world,
        "sys.stderr.write('Traceback: /internal/place'); say({'ok': False, 'error': {'code': 'FULL', 'message': 'The list is full.'}}, 3)",
    )
    outcome = world("call", "one", "--", "list")
    assert (outcome.error["code"], outcome.exit_code) == ("FULL", 3)
    assert "/internal/place" not in json.dumps(outcome.events)
    people = world("call", "one", "--", "list", output=None)
    assert "The list is full." in people.stderr
    assert "/internal/place" not in people.stderr
    assert "/internal/place" in world("call", "one", "--debug", "--", "list").error["diagnostics"]


@requirement("appmd:aoi:passed-through")
def test_an_application_that_speaks_aoi_is_passed_through_with_its_verdict(world):
    lines = [
        META,
        '{"type":"hit","rank":1}',
        '{"type":"aoi:warning","code":"W","message":"w"}',
        '{"type":"aoi:summary","ok":true,"count":1,"next_cursor":"c"}',
    ]
    approved(world, f"print({chr(10).join(lines)!r})")
    outcome = world("call", "one", "--", "list")
    assert outcome.exit_code == 0
    assert outcome.events[0]["upstream"]["tool"] == "t"
    assert outcome.of("hit") == [{"type": "hit", "rank": 1}]
    assert (outcome.summary["verdict"]["outcome"], outcome.summary["warning_count"]) == ("success", 1)
    assert outcome.summary["next_cursor"] == "c"


def test_a_stream_that_breaks_off_is_no_success(world):
    approved(world, f'print({META!r}); print(\'{{"type":"hit"}}\')')
    outcome = world("call", "one", "--", "list")
    assert outcome.exit_code == 65
    assert outcome.error["code"] == "EXIT0_WITHOUT_SUMMARY"
    assert len(outcome.of("hit")) == 1


def test_an_application_that_hangs_is_ended_after_the_timeout(world):
    root = made(world.root / "apps" / "one", "open('app/state/up', 'w').close(); time.sleep(600)")
    (root / "app" / "state").mkdir()
    assert world("approve", "one").exit_code == 0
    outcome = in_time(
        lambda timeout: world("call", "one", "--timeout", str(timeout), "--", "list"),
        lambda _: (root / "app" / "state" / "up").exists(),
    )
    assert (root / "app" / "state" / "up").exists()
    assert (outcome.error["code"], outcome.exit_code) == ("APP_TIMEOUT", 124)


@requirement("appmd:scheduling:documented-only")
def test_schedules_are_the_documented_ones(world):
    made(
        world.root / "apps" / "one",
        commands="[list, plan]",
        more="scheduling: supported",
        body="## Scheduling\n\n`plan DAY`\n",
    )
    assert [(each["command"], each["usage"]) for each in world("schedules", "one").results] == [
        ("plan", "plan DAY")
    ]
    made(world.root / "apps" / "two")
    assert world("schedules", "two").error["code"] == "SCHEDULING_NOT_SUPPORTED"


@requirement("appmd:trust:pinned-content")
def test_list_says_of_each_application_what_a_call_of_it_would_meet(world):
    """One that was edited after its approval is not called approved, nor one whose shell was not."""
    roots = {name: made(world.root / "apps" / name) for name in ("kept", "edited", "never")}
    for name in ("kept", "edited"):
        assert world("approve", name).exit_code == 0
    (roots["edited"] / "app" / "cli.py").write_text("print(1)")
    made(world.root / "apps" / "shelled", more="metadata: {operable: {shell: true}}")
    assert world("approve", "shelled").exit_code == 0

    listed = {each["slug"]: each for each in world("list").results}
    met = {name: world("call", name, "--", "list").of("aoi:error") for name in listed}
    people = world("list", output=None)

    assert {name: each["trust"] for name, each in listed.items()} == {
        "kept": "approved",
        "edited": "changed",
        "never": "unapproved",
        "shelled": "unapproved",
    }
    assert listed["edited"]["standing"] == "changed since it was approved: app/cli.py"
    for name, each in listed.items():
        assert (met[name] == []) == (each["trust"] == "approved"), name
    assert "edited may not run: changed since it was approved: app/cli.py" in people.stderr
