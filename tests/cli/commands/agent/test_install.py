"""`operable agent install`, `setup`, `login` and `doctor`: planned, done once, and never waiting for somebody who is not there."""

import json
import os
import shlex
import signal
import stat

import pytest

from tests.cli.drive import PROGRAM, processes_with
from tests.host.launch.making import recorder
from tests.requirement import requirement
from tests.tool.drive import Gate, eventually, terminal


@pytest.fixture
def parrot(scene):
    """An agent whose program lies beside its manifest and is not installed."""

    def make(**more):
        folder = scene.user(
            "parrot",
            bin="parrot",
            install=[{"method": "vendored", "path": "bin/parrot"}],
            version_check={"cmd": "parrot --version", "parse": r"(\d+\.\d+\.\d+)", "range": "^1.2"},
            **more,
        )
        (folder / "bin").mkdir()
        program = folder / "bin" / "parrot"
        program.write_text("#!/bin/sh\necho parrot ${VERSION:-1.4.0}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return folder

    return make


@requirement("aip45:lifecycle:install")
def test_an_agent_is_installed_once_and_a_dry_run_installs_nothing(scene, parrot):
    folder = parrot()

    plan = scene("install", "parrot", "--dry-run")
    assert plan.of("aoi:plan")[0]["methods"] == ["vendored"]
    assert scene("show", "parrot").results[0]["installed"] is None

    done = scene("install", "parrot").of("agent_installed")[0]
    assert (done["binary"], done["version"], done["method"]) == (
        str(folder / "bin" / "parrot"),
        "1.4.0",
        "vendored",
    )
    assert scene("install", "parrot").summary["count"] == 0
    assert len(scene("install", "parrot", "--again").of("agent_installed")) == 1


def test_what_cannot_be_installed_is_an_error_with_every_reason(scene):
    scene.user("ghost", bin="ghost-nowhere", install=[{"method": "vendored", "path": "bin/ghost-nowhere"}])

    outcome = scene("install", "ghost")

    assert (outcome.exit_code, outcome.error["code"]) == (78, "INSTALL_FAILED")
    assert outcome.error["aip_code"] == "install_failed"
    assert [attempt["method"] for attempt in outcome.error["attempts"]] == ["vendored"]


SETUP = [
    {
        "id": "colour",
        "kind": "prompt",
        "prompt": "Which colour?",
        "type": "select",
        "options": ["green", "red"],
    },
    {"id": "mark", "kind": "cmd", "cmd": "touch marked"},
]


@requirement("aip45:setup:once")
def test_setup_takes_answers_from_a_file_and_is_done_once(scene, parrot):
    parrot(setup=SETUP)
    scene("install", "parrot")
    (scene.work / "answers.json").write_text(json.dumps({"colour": "green"}))

    refused = scene("setup", "parrot")
    assert (refused.exit_code, refused.error["aip_code"]) == (78, "setup_required")
    assert refused.error["hint"].endswith(", then: operable agent setup parrot --answers FILE")
    assert "answers to colour" in refused.error["hint"]
    assert [step["id"] for step in refused.error["pending"]] == ["colour", "mark"]
    plan = scene("setup", "parrot", "--dry-run")
    assert [change["target"] for change in plan.of("aoi:plan")] == ["colour", "mark"]
    assert not (scene.work / "marked").exists()

    done = scene("setup", "parrot", "--answers", "answers.json")
    assert [(step["step"], step["outcome"]) for step in done.of("setup_step_done")] == [
        ("colour", "done"),
        ("mark", "done"),
    ]
    assert (scene.work / "marked").exists()
    assert scene("setup", "parrot").summary["count"] == 0


def test_a_step_that_fails_is_named(scene, parrot):
    parrot(setup=[{"id": "fails", "kind": "cmd", "cmd": "sh -c 'exit 3'"}])
    scene("install", "parrot")

    outcome = scene("setup", "parrot")

    assert (outcome.error["aip_code"], outcome.error["step"]) == ("setup_failed", "fails")


def test_answers_that_are_no_texts_are_refused(scene, parrot):
    parrot(setup=SETUP)
    scene("install", "parrot")
    (scene.work / "answers.json").write_text('{"colour": 3}')
    assert scene("setup", "parrot", "--answers", "answers.json").error["code"] == "INVALID_ANSWERS"
    (scene.work / "answers.json").write_text("[]")
    assert scene("setup", "parrot", "--answers", "answers.json").error["code"] == "INVALID_JSON"
    assert scene("setup", "parrot", "--answers", "none.json").error["code"] == "FILE_NOT_FOUND"


def test_a_person_at_the_terminal_is_asked(scene, parrot):
    parrot(setup=SETUP)
    scene("install", "parrot")

    with terminal(
        "agent", "setup", "parrot", "--workspace", str(scene.work), tool=PROGRAM, env=scene.env
    ) as person:
        person.read_until("Which colour?")
        person.type("red\n")
        outcome = person.finish()

    assert outcome.exit_code == 0, outcome
    assert (scene.work / "marked").exists()


def login(**more):
    return {"state": {"paths": ["token"]}, "login": {"cmd": "touch token", **more}}


def test_an_agent_is_logged_in_by_its_own_command_once(scene, parrot):
    parrot(auth=login())
    scene("install", "parrot")

    plan = scene("login", "parrot", "--dry-run").of("aoi:plan")[0]
    assert plan["command"] == "touch token"
    assert not (scene.work / "token").exists()
    assert scene("login", "parrot").of("agent_login")[0]["state"] == "authed"
    assert (scene.work / "token").exists()
    (known,) = scene("login", "parrot").of("aoi:check")
    assert (known["ok"], known["detail"]) == (True, "parrot is logged in: token")


def test_an_agent_that_keeps_its_login_by_itself_is_looked_at_and_every_way_to_log_in_is_said(scene, parrot):
    told = {
        "login_files": ["~/.parrot/token"],
        "login_command": "parrot login",
        "login_help": "ask its owner",
    }
    parrot(metadata={"operable": told}, models={"env": {"parrot": "PARROT_KEY"}})

    assert scene("install", "parrot").exit_code == 0
    refused = scene("login", "parrot")
    assert (refused.exit_code, refused.error["code"]) == (77, "AUTH_REQUIRED")
    assert refused.error["hint"] == "run parrot login; or give it a key in PARROT_KEY; or ask its owner"

    (scene.home / ".parrot").mkdir(parents=True)
    (scene.home / ".parrot" / "token").write_text("x")
    (known,) = scene("login", "parrot", env={"HOME": str(scene.home)}).of("aoi:check")
    assert known["detail"] == "parrot is logged in: ~/.parrot/token"


def test_an_agent_without_any_word_about_its_login_is_not_called_logged_in(scene, parrot):
    parrot()
    scene("install", "parrot")

    assert scene("login", "parrot").error["code"] == "AUTH_REQUIRED"


def test_a_login_that_needs_a_person_is_refused_at_once_where_nobody_is(scene, parrot):
    parrot(auth=login(interactive=True))
    scene("install", "parrot")

    outcome = scene("login", "parrot")

    assert (outcome.exit_code, outcome.error["code"]) == (77, "AUTH_REQUIRED")
    assert (outcome.error["aip_code"], outcome.error["login_command"]) == ("auth_required", "touch token")


KEY = "sk-kept-0123456789abcdef"


def _with_a_key(scene, parrot, backend):
    folder = parrot(auth={"ref": "./SECRETS.md", "state": {"env": ["PARROT_KEY"]}})
    (folder / "SECRETS.md").write_text(
        "---\nsecrets:\n  - {slug: parrot-key, name: Key, description: Of the parrot."
        + (f", backend: '{backend}'" if backend else "")
        + "}\n---\n"
    )
    scene("install", "parrot")


@pytest.mark.parametrize("way", ["file", "stdin"])
def test_a_key_is_kept_where_the_inventory_says_and_is_nowhere_else(scene, parrot, way):
    place = scene.home / "keys" / "parrot"
    _with_a_key(scene, parrot, f"file://{place}")
    given = scene.work / "key.txt"
    given.write_text(f"{KEY}\n")
    assert scene("login", "parrot").error["code"] == "AUTH_REQUIRED"

    plan = scene("login", "parrot", "--from-file", str(given), "--dry-run").of("aoi:plan")[0]
    assert (plan["slug"], plan["source"], place.exists()) == ("parrot-key", str(given), False)
    if way == "file":
        done = scene("login", "parrot", "--from-file", str(given))
    else:
        done = scene("login", "parrot", "--from-file", "-", input=given.read_bytes())

    assert done.of("agent_login")[0]["state"] == "authed", done
    assert (place.read_text(), stat.S_IMODE(place.stat().st_mode)) == (KEY, 0o600)
    assert KEY.encode() not in done.stdout + done.stderr.encode()
    (known,) = scene("login", "parrot").of("aoi:check")
    assert known["detail"] == "parrot is logged in: PARROT_KEY"
    holding = [path for path in scene.home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert holding == [place]


def test_a_key_that_cannot_be_kept_is_refused_with_what_to_do(scene, parrot):
    _with_a_key(scene, parrot, None)
    (scene.work / "key.txt").write_text(KEY)
    (scene.work / "empty.txt").write_text("\n")

    nowhere = scene("login", "parrot", "--from-file", "key.txt")
    assert (nowhere.exit_code, nowhere.error["code"]) == (78, "SECRET_NOT_WRITABLE")
    assert KEY.encode() not in nowhere.stdout
    assert scene("login", "parrot", "--from-file", "empty.txt").error["code"] == "INVALID_KEY"
    assert scene("login", "parrot", "--from-file", "none.txt").error["code"] == "FILE_NOT_FOUND"


def test_an_agent_without_an_inventory_has_no_place_for_a_key(scene, parrot):
    parrot(models={"env": {"parrot": "PARROT_KEY"}})
    scene("install", "parrot")

    refused = scene("login", "parrot", "--from-file", "key.txt")

    assert refused.error["code"] == "KEY_NOT_DECLARED"
    assert refused.error["hint"] == "give it the key in PARROT_KEY"


def test_before_anything_else_it_must_be_installed(scene, parrot):
    parrot(auth=login(), setup=SETUP)

    for command in ("setup", "login"):
        outcome = scene(command, "parrot")
        assert (outcome.exit_code, outcome.error["code"]) == (65, "AGENT_NOT_INSTALLED")
        assert outcome.error["aip_code"] == "install_failed"


def test_doctor_looks_and_changes_nothing_and_with_fix_mends_what_it_can(scene, parrot):
    parrot(auth=login(), setup=SETUP[1:])

    looked = scene("doctor", "parrot")
    assert looked.exit_code == 65
    checks = {check["name"]: check for check in looked.of("aoi:check")}
    assert checks["installed"]["ok"] is False
    assert checks["installed"]["hint"] == "operable agent install parrot"
    assert (checks["sandbox"]["ok"], checks["sandbox"]["severity"]) == (False, "warning")
    assert checks["sandbox"]["detail"] == "no sandbox: runs with all your rights"
    assert scene("show", "parrot").results[0]["installed"] is None

    mended = scene("doctor", "parrot", "--fix")
    assert mended.exit_code == 0, mended
    assert {check["name"] for check in mended.of("aoi:check") if check["ok"]} >= {
        "installed",
        "setup",
        "auth",
    }
    assert (scene.work / "marked").exists()
    assert (scene.work / "token").exists()
    assert scene("doctor", "parrot").exit_code == 0


def test_doctor_leaves_to_people_what_only_people_can_do(scene, parrot):
    parrot(setup=SETUP)

    outcome = scene("doctor", "parrot", "--fix")

    assert outcome.exit_code == 65
    left = [check for check in outcome.of("aoi:check") if not check["ok"] and check["severity"] == "error"]
    assert [check["name"] for check in left] == ["setup"]


def test_no_answer_is_in_the_plan_or_in_the_ledger(scene, parrot):
    parrot(
        setup=[{"id": "key", "kind": "prompt", "prompt": "Key?", "type": "secret", "persist": {"env": "KEY"}}]
    )
    scene("install", "parrot")
    (scene.work / "answers.json").write_text('{"key": "hunter2-hunter2"}')

    outcome = scene("setup", "parrot", "--answers", "answers.json")

    assert outcome.exit_code == 0, outcome
    assert b"hunter2-hunter2" not in outcome.stdout
    ledger = scene.home / "state" / "agents" / "ledger.sqlite"
    assert b"hunter2-hunter2" not in ledger.read_bytes()


@pytest.fixture
def fetched(scene):
    """An agent that an npm of the test installs; what it was called with stands in the file."""
    folder = scene.user(bin="scripted", install=[{"method": "npm", "package": "a-scripted-agent"}])
    tools = scene.home / "bin"
    recorder(tools, "npm", f'mkdir -p "$3/node_modules/.bin"; cp {folder}/scripted "$3/node_modules/.bin/"')
    scene.env["PATH"] = f"{tools}:{os.environ['PATH']}"
    return tools / "npm.calls"


@pytest.fixture
def slow(scene):
    """An agent whose installer waits at a gate."""
    folder = scene.user(bin="scripted", install=[{"method": "npm", "package": "a-scripted-agent"}])
    tools = scene.home / "bin"
    tools.mkdir()
    gate = Gate(tools / "gate")
    copy = f'mkdir -p "$3/node_modules/.bin"; cp {folder}/scripted "$3/node_modules/.bin/"'
    recorder(tools, "npm", f"exec 3< {gate.path}; head -c 1 <&3 > /dev/null; {copy}")
    scene.env["PATH"] = f"{tools}:{os.environ['PATH']}"
    yield gate
    gate.close()


def test_how_far_an_installation_is_can_be_read_while_it_runs(scene, slow):
    with scene.running("install", "scripted") as running:
        begun = running.event("aoi:progress")
        still = running.process.poll()
        slow.open()
        outcome = running.finish()

    assert still is None
    assert (begun["done"], begun["unit"]) == (1, "steps")
    assert "npm" in begun["message"]
    assert outcome.exit_code == 0, outcome
    assert [event["done"] for event in outcome.of("aoi:progress")] == [1, 2]
    assert outcome.of("agent_installed")[0]["method"] == "npm"


def test_a_person_sees_how_far_an_installation_is(scene, slow):
    with terminal(
        "agent", "install", "scripted", "--workspace", str(scene.work), tool=PROGRAM, env=scene.env
    ) as person:
        person.read_until("trying npm")
        slow.open()
        assert person.finish().exit_code == 0


def test_an_interrupt_ends_the_installer_with_the_installation(scene, slow):
    with scene.running("install", "scripted") as running:
        running.event("aoi:progress")
        eventually(lambda: processes_with(str(scene.home / "bin" / "npm")), "npm")
        running.signal(signal.SIGINT)
        outcome = running.finish()

    assert outcome.exit_code == 130
    assert not processes_with(str(scene.home / "bin" / "npm"))
    assert scene("show", "scripted").results[0]["installed"] is None


MISSING = (65, "AGENT_NOT_INSTALLED", "not_found")


@pytest.mark.parametrize("output", ["jsonl", None])
def test_a_message_to_an_agent_that_is_not_there_installs_nothing(scene, fetched, output):
    outcome = scene("prompt", "scripted", "--prompt", "hi", output=output)

    assert outcome.exit_code == 65
    assert not fetched.exists()
    assert "operable agent install scripted" in outcome.stdout.decode() + outcome.stderr


def test_the_hint_of_an_agent_that_is_not_there_can_be_typed(scene, fetched):
    elsewhere = scene.work / "other place"
    elsewhere.mkdir()
    path = str(scene.home / "config" / "agents" / "scripted" / "AGENT-CLI.md")
    typed: list[str] = []
    for name, words in (("scripted", ()), (path, ("--workspace", "other place"))):
        error = scene("prompt", name, "--prompt", "hi", *words).error
        assert (65, error["code"], error["category"]) == MISSING
        assert error["methods"] == ["npm"]
        program, group, *typed = shlex.split(error["hint"])
        assert (program, group, typed) == ("operable", "agent", ["install", name, *words])
    assert scene(*typed).of("agent_installed")[0]["method"] == "npm"

    assert scene("prompt", "scripted", "--prompt", "hi").exit_code == 0
    assert len(fetched.read_text().splitlines()) == 1


def test_with_the_option_it_is_installed_and_that_is_said_first(scene, fetched):
    outcome = scene("prompt", "scripted", "--prompt", "hi", "--install")

    assert outcome.exit_code == 0, outcome
    (said,) = outcome.of("aoi:warning")
    assert said["code"] == "AGENT_INSTALLING"
    assert "npm (a-scripted-agent), with your rights" in said["message"]
    types = [event["type"] for event in outcome.events]
    assert types.index("aoi:warning") < types.index("text-delta")
    assert scene("prompt", "scripted", "--prompt", "hi", "--install").of("aoi:warning") == []


@pytest.mark.parametrize(("answer", "exit_code", "calls"), [("y\n", 0, 1), ("\n", 65, 0), ("no\n", 65, 0)])
def test_a_person_is_asked_before_anything_is_installed(scene, fetched, answer, exit_code, calls):
    words = ("agent", "prompt", "scripted", "--prompt", "hi", "--workspace", str(scene.work))
    with terminal(*words, tool=PROGRAM, env=scene.env) as person:
        person.read_until("with your rights, by npm? [y/N]")
        assert not fetched.exists()
        person.type(answer)
        outcome = person.finish()

    assert outcome.exit_code == exit_code, outcome
    assert (len(fetched.read_text().splitlines()) if fetched.exists() else 0) == calls


def test_another_version_is_not_put_in_its_place_unasked(scene, fetched):
    assert scene("install", "scripted").exit_code == 0
    manifest = scene.home / "config" / "agents" / "scripted" / "AGENT-CLI.md"
    text = manifest.read_text()
    assert ">=1.0.0" in text
    manifest.write_text(text.replace(">=1.0.0", ">=9.0.0"))

    outcome = scene("prompt", "scripted", "--prompt", "hi")

    assert (outcome.error["code"], outcome.error["hint"]) == (
        "VERSION_MISMATCH",
        "operable agent install scripted",
    )
    assert len(fetched.read_text().splitlines()) == 1
