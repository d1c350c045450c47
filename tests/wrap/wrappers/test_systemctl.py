"""The wrapped systemctl: on folders of unit files, and with a real systemd, the one of a user, in namespaces of its own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.drive import PROGRAM
from tests.tool.drive import LIMIT, Outcome
from tests.wrap.drive import wrap
from tests.wrap.wrappers.stand_in import stand_in

pytestmark = pytest.mark.needs("systemctl")
UNIT = "[Unit]\nDescription={}\n[Service]\nExecStart=/bin/sleep 1000\n[Install]\nWantedBy=default.target\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "root" / "usr/lib/systemd/system"
    place.mkdir(parents=True)
    for name in ("one", "two", "three"):
        (place / f"{name}.service").write_text(UNIT.format(name))
    (place / "default.target").write_text("[Unit]\nDescription=all\n")
    return tmp_path / "root"


def states(outcome: Outcome) -> dict[str, str]:
    return {event["unit_file"]: event["state"] for event in outcome.results}


def test_unit_files_of_a_folder_are_listed_page_by_page(root):
    first = wrap("systemctl", "unit-files", "--root", str(root), "--limit", "3")
    cursor = first.summary["next_cursor"]
    second = wrap("systemctl", "unit-files", "--root", str(root), "--limit", "3", "--cursor", cursor)

    expected = dict.fromkeys(("one.service", "two.service", "three.service"), "disabled")
    assert {**states(first), **states(second)} == {**expected, "default.target": "static"}


def test_enabling_plans_first_and_tells_the_state_afterwards(root):
    plan = wrap("systemctl", "enable", "one.service", "two.service", "--root", str(root), "--dry-run")
    untouched = not (root / "etc").exists()
    done = wrap("systemctl", "enable", "one.service", "two.service", "--root", str(root))

    assert [(each["target"], each["state"]) for each in plan.of("aoi:plan")] == [
        ("one.service", "disabled"),
        ("two.service", "disabled"),
    ]
    assert untouched
    assert states(done) == {"one.service": "enabled", "two.service": "enabled"}
    assert (root / "etc/systemd/system/default.target.wants/one.service").is_symlink()


def test_masking_needs_confirmation_and_can_be_taken_back(root):
    refused = wrap("systemctl", "mask", "one.service", "--root", str(root))
    many = wrap("systemctl", "mask", "one.service", "two.service", "--root", str(root), "--confirm")
    done = wrap("systemctl", "mask", "one.service", "--root", str(root), "--confirm")
    enabled = wrap("systemctl", "enable", "one.service", "--root", str(root))
    back = wrap("systemctl", "unmask", "one.service", "--root", str(root))

    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert "--confirm-count" in many.error["hint"]
    assert states(done) == {"one.service": "masked"}
    assert (enabled.error["category"], enabled.error["code"]) == ("conflict", "UNIT_MASKED")
    assert states(back) == {"one.service": "disabled"}


def test_a_unit_that_is_named_without_its_kind_is_a_service(root):
    plan = wrap("systemctl", "enable", "one", "--root", str(root), "--dry-run")
    done = wrap("systemctl", "enable", "one", "--root", str(root))

    assert [(each["target"], each["state"]) for each in plan.of("aoi:plan")] == [("one.service", "disabled")]
    assert states(done) == {"one.service": "enabled"}


def test_what_matches_nothing_is_an_answer_and_what_is_not_there_an_error(root):
    nothing = wrap("systemctl", "unit-files", "nope*", "--root", str(root))
    missing = wrap("systemctl", "enable", "nope.service", "--root", str(root))
    nowhere = wrap("systemctl", "unit-files", "--root", str(root / "nope"))

    assert (nothing.exit_code, nothing.results) == (0, [])
    assert nothing.summary["upstream"]["meaning"] == "no_match"
    assert (missing.error["category"], missing.error["code"]) == ("not_found", "UNIT_NOT_FOUND")
    assert nowhere.error["category"] == "not_found"


def test_a_unit_that_looks_like_an_option_is_a_name_and_a_pattern_is_refused(root):
    """A pattern would stop more than the plan shows."""
    option = wrap("systemctl", "enable", "--root", str(root), "--", "--now")

    assert option.summary["ok"] is False
    assert not (root / "etc").exists()
    for command in ("enable", "start", "stop"):
        assert wrap("systemctl", command, "on*.service").error["code"] == "INVALID_VALUE"


@pytest.mark.skipif(os.path.isdir("/run/systemd/system"), reason="systemd runs here")
@pytest.mark.parametrize("words", [["units"], ["timers"], ["sockets"], ["start", "one.service"]])
def test_without_a_systemd_the_error_says_so(words):
    done = wrap("systemctl", *words)

    assert (done.error["category"], done.error["code"]) == ("config", "SYSTEMD_NOT_RUNNING")
    assert "--root" in done.error["hint"]


def test_prose_where_json_was_promised_is_counted(tmp_path):
    done = wrap("systemctl", "units", env=stand_in(tmp_path, "systemctl", prints="No units.\n[]\n"))

    assert [warning["code"] for warning in done.of("aoi:warning")] == ["UPSTREAM_NON_JSON"]
    assert done.summary["upstream"]["non_json"] == 1


def test_one_that_stops_in_the_middle_is_never_ok(tmp_path):
    done = wrap(
        "systemctl", "units", env=stand_in(tmp_path, "systemctl", prints='[{"unit":"a.service"},{"un')
    )

    assert (done.error["code"], done.summary["ok"]) == ("UPSTREAM_INCOMPLETE", False)


# -- with a systemd

MANAGER = "/lib/systemd/systemd"
SCRIPT = """
import json, os, subprocess, sys, time
os.makedirs("/run/systemd/system")  # what programs look for to know that systemd runs
manager = subprocess.Popen([sys.argv[1], "--user", "--log-target=null"], stdin=subprocess.DEVNULL)
deadline = time.monotonic() + float(sys.argv[2])
while subprocess.run(["systemctl", "--user", "list-units"], capture_output=True).returncode != 0:
    if time.monotonic() > deadline or manager.poll() is not None:
        sys.exit("systemd does not run here")
    time.sleep(0.05)
told = []
for words in json.load(sys.stdin):
    done = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL)
    told.append([done.returncode, done.stdout.decode(), done.stderr.decode()])
json.dump(told, sys.stdout)
"""


def with_systemd(home: Path, *calls: list[str]) -> list[Outcome]:
    """Calls of the wrapped systemctl, one after the other, beside a systemd of a user in a world of its own."""
    if not os.access(MANAGER, os.X_OK) or shutil.which("bwrap") is None:
        pytest.skip(f"{MANAGER} or bwrap is not installed (Debian packages systemd, bubblewrap)")
    words = [[PROGRAM, "wrap", "systemctl", *call, "--user", "--output", "jsonl"] for call in calls]
    world = ["bwrap", "--dev-bind", "/", "/", "--tmpfs", "/run", "--dir", "/run/user", "--proc", "/proc"]
    world += ["--unshare-pid", "--die-with-parent", "--setenv", "XDG_RUNTIME_DIR", "/run/user"]
    world += ["--setenv", "HOME", str(home), "--setenv", "OPERABLE_HOME", str(home / "operable")]
    done = subprocess.run(
        [*world, sys.executable, "-c", SCRIPT, MANAGER, str(LIMIT)],
        input=json.dumps(words),
        text=True,
        capture_output=True,
        timeout=LIMIT * 6,
        check=False,
    )
    if "systemd does not run here" in done.stderr or "bwrap:" in done.stderr:
        pytest.skip("no systemd of a user can be started in a namespace here")
    assert done.returncode == 0, done.stderr
    told: list[Any] = json.loads(done.stdout)
    return [Outcome(code, stdout.encode(), stderr.encode()) for code, stdout, stderr in told]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    place = tmp_path / "home" / ".config/systemd/user"
    place.mkdir(parents=True)
    (place / "nap.service").write_text(UNIT.format('odd "name" \\n é'))
    (place / "nap.timer").write_text("[Timer]\nOnCalendar=daily\n")
    (place / "door.socket").write_text(
        "[Socket]\nListenStream=%t/door one\nListenStream=%t/two\nAccept=yes\n"
    )
    (place / "door@.service").write_text(UNIT.format("door"))
    return tmp_path / "home"


def test_units_are_started_told_and_stopped_only_when_confirmed(home):
    plan, start, units, refused, still, stop, gone = with_systemd(
        home,
        ["start", "nap.service", "--dry-run"],
        ["start", "nap.service"],
        ["units", "nap*"],
        ["stop", "nap.service"],
        ["units", "nap.service"],
        ["stop", "nap.service", "--confirm"],
        ["units", "nap.service", "--state", "running"],
    )

    assert [each["target"] for each in plan.of("aoi:plan")] == ["nap.service"]
    assert [(each["unit"], each["active"], each["sub"]) for each in start.results] == [
        ("nap.service", "active", "running")
    ]
    assert units.results[0]["description"] == 'odd "name" \\n é'
    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert [each["sub"] for each in still.results] == ["running"]
    assert stop.summary["ok"] is True
    assert gone.results == []


def test_timers_and_sockets_are_told_and_a_unit_that_is_not_there_is_not_found(home):
    _, timers, sockets, missing = with_systemd(
        home,
        ["start", "nap.timer", "door.socket"],
        ["timers"],
        ["sockets", "door*"],
        ["start", "nope.service"],
    )

    assert [(each["unit"], each["activates"]) for each in timers.results] == [("nap.timer", "nap.service")]
    assert timers.results[0]["next"] > 1_700_000_000_000_000
    assert [each["listen"] for each in sockets.results] == ["/run/user/door one", "/run/user/two"]
    assert (missing.error["category"], missing.error["code"]) == ("not_found", "UNIT_NOT_FOUND")
    assert missing.summary["upstream"]["meaning"] == "unit_not_found"
