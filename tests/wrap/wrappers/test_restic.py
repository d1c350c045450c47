"""The wrapped restic on real repositories in folders."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.tool.drive import LIMIT, Outcome
from tests.wrap.drive import raw, wrap
from tests.wrap.wrappers.stand_in import stand_in

pytestmark = [pytest.mark.needs("restic"), pytest.mark.timeout(300)]
PASSWORD = "correct-horse-battery"


class Repository:
    """A repository, and some files to put into it. restic takes half a second to make a key of a password."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "repo"
        self.data = folder / "data"
        self.data.mkdir()
        (self.data / "one.txt").write_text("1")
        (self.data / "two.txt").write_text("22")
        self.env = {
            "RESTIC_REPOSITORY": str(self.path),
            "RESTIC_PASSWORD": PASSWORD,
            "RESTIC_CACHE_DIR": str(folder / "cache"),
        }

    def __call__(self, *words: str, env: dict[str, str] | None = None) -> Outcome:
        return wrap("restic", *words, env=self.env | (env or {}), timeout=LIMIT * 6)

    def native(self, *words: str) -> bytes:
        done = subprocess.run(
            ["restic", *words],
            env=os.environ | self.env,
            capture_output=True,
            check=True,
            timeout=LIMIT * 3,
        )
        return done.stdout


@pytest.fixture
def fresh(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


@pytest.fixture
def repo(fresh: Repository) -> Repository:
    fresh.native("init")
    return fresh


def test_a_repository_is_made_and_told_although_the_program_prints_prose(fresh):
    plan, done, again = fresh("init", "--dry-run"), fresh("init"), fresh("init")

    assert [event["action"] for event in plan.of("aoi:plan")] == ["init"]
    assert done.results[0]["id"] == json.loads(fresh.native("cat", "config"))["id"]
    assert done.summary["warning_count"] == 0
    assert (again.error["category"], again.error["code"]) == ("conflict", "REPOSITORY_EXISTS")


def test_a_backup_is_planned_by_its_dry_run_and_told_by_its_snapshot(repo):
    plan = repo("backup", str(repo.data), "--dry-run")
    nothing = json.loads(repo.native("snapshots", "--json"))
    done = repo("backup", str(repo.data), "--tag", "daily")

    (change,) = plan.of("aoi:plan")
    assert (change["target"], change["files_new"], change["total_bytes_processed"]) == (str(repo.data), 2, 3)
    assert not nothing
    (made,) = done.results
    assert (made["files_new"], made["total_files_processed"]) == (2, 2)
    (snapshot,) = json.loads(repo.native("snapshots", "--json"))
    assert snapshot["id"].startswith(made["id"])
    assert snapshot["tags"] == ["daily"]


def test_snapshots_files_matches_and_sizes_are_told(repo):
    repo.native("backup", str(repo.data))

    (snapshot,) = repo("snapshots").results
    nodes = {event["path"]: event for event in repo("ls", snapshot["id"]).results}
    found = repo("find", "two*").results
    (stats,) = repo("stats").results

    assert snapshot["paths"] == [str(repo.data)]
    assert nodes[str(repo.data / "two.txt")]["size"] == 2
    assert nodes[str(repo.data)]["kind"] == "dir"
    assert [(event["path"], event["snapshot"]) for event in found] == [
        (str(repo.data / "two.txt"), snapshot["id"])
    ]
    assert (stats["total_size"], stats["snapshots_count"]) == (3, 1)


def test_forgetting_removes_what_was_planned_and_nothing_else(repo):
    for _ in range(3):
        repo.native("backup", str(repo.data))
    ids = [each["id"] for each in json.loads(repo.native("snapshots", "--json"))]

    plan = repo("forget", "--keep-last", "1", "--dry-run")
    refused = repo("forget", "--keep-last", "1", "--confirm")
    done = repo("forget", "--keep-last", "1", "--confirm", plan.summary["plan_digest"])

    assert {event["target"] for event in plan.of("aoi:plan")} == set(ids[:2])
    assert "--confirm-count 2" in refused.error["message"]
    assert {event["id"] for event in done.results} == set(ids[:2])
    assert [each["id"] for each in json.loads(repo.native("snapshots", "--json"))] == ids[2:]


def test_forgetting_by_name_needs_a_name_that_is_there(repo):
    repo.native("backup", str(repo.data))
    (snapshot,) = json.loads(repo.native("snapshots", "--json"))

    missing = repo("forget", "ffffffff", "--confirm")
    nothing = repo("forget", "--confirm")
    done = repo("forget", snapshot["short_id"], "--confirm")

    assert (missing.error["category"], missing.error["code"]) == ("not_found", "SNAPSHOT_NOT_FOUND")
    assert (nothing.error["category"], nothing.error["code"]) == ("usage", "MISSING_OPERAND")
    assert [event["id"] for event in done.results] == [snapshot["id"]]


def test_a_snapshot_that_is_not_there_is_an_error_although_the_program_says_success(repo):
    done = repo("ls", "ffffffff")

    assert (done.error["category"], done.error["code"]) == ("not_found", "SNAPSHOT_NOT_FOUND")
    assert done.summary["upstream"]["exit"] == 0
    assert done.summary["ok"] is False


def test_a_path_that_is_not_there_is_refused_although_the_program_would_skip_it(repo):
    done = repo("backup", str(repo.data), str(repo.data / "nope"))

    assert (done.error["category"], done.error["code"]) == ("not_found", "PATH_NOT_FOUND")
    assert not json.loads(repo.native("snapshots", "--json"))


NAMES = [
    b"two\nlines",
    b" \t\x1b[1m",
    b'"}\n{"struct_type":"snapshot"}',
    "é \ufffd".encode(),
    b'caf\xe9 \\x41 "',
    b"\xe2\x82",
    b"\xff\xfe",
]


def test_any_name_comes_back_although_the_program_writes_another(repo):
    inner = os.fsencode(repo.data) + b"/in\xffner"
    os.mkdir(inner)
    paths = [os.fsencode(repo.data) + b"/" + name for name in NAMES] + [inner + b"/x\xfe"]
    for path in paths:
        Path(os.fsdecode(path)).write_text("x")
    repo.native("backup", str(repo.data))

    done = repo("ls")

    alike = {os.fsencode(repo.data) + b"/" + name for name in (b"\xe2\x82", b"\xff\xfe")}
    assert {raw(event, "path") for event in done.results} >= {*paths, inner} - alike
    # Two names that are written alike cannot be told apart.
    odd = {event["path"] for event in done.results if event.get("lossy")}
    assert odd == {str(repo.data / "\ufffd\ufffd")}


def test_pages_of_files_go_on_behind_the_last(repo):
    repo.native("backup", str(repo.data))
    whole = [event["path"] for event in repo("ls").results]

    first = repo("ls", "--limit", "2")
    rest = repo("ls", "--limit", "100", "--cursor", first.summary["next_cursor"])

    assert [event["path"] for event in first.results + rest.results] == whole


def test_a_sound_repository_is_told_and_a_damaged_one_is_an_error(repo):
    repo.native("backup", str(repo.data))
    sound = repo("check")
    # A pack of data, not of folders: for one of those it asks again and again, for many minutes.
    (index,) = repo.native("list", "index").decode().split()
    packs = json.loads(repo.native("cat", "index", index))["packs"]
    for pack in packs:
        if {blob["type"] for blob in pack["blobs"]} == {"data"}:
            (repo.path / "data" / pack["id"][:2] / pack["id"]).unlink()
    damaged = repo("check")

    assert sound.results[0]["ok"] is True
    assert sound.summary["warning_count"] == 0
    assert (damaged.error["category"], damaged.error["code"]) == ("validation", "REPOSITORY_DAMAGED")
    assert damaged.results == []


@pytest.mark.parametrize(
    "env, category, code",
    [
        ({"RESTIC_PASSWORD": "wrong"}, "authn", "PASSWORD_WRONG"),
        ({"RESTIC_PASSWORD": ""}, "authn", "PASSWORD_MISSING"),
        ({"RESTIC_REPOSITORY": "/nowhere/at/all"}, "not_found", "REPOSITORY_NOT_FOUND"),
        ({"RESTIC_REPOSITORY": ""}, "usage", "REPOSITORY_MISSING"),
    ],
)
def test_what_keeps_it_from_the_repository_is_told(repo, env, category, code):
    done = repo("snapshots", env=env)

    assert (done.error["category"], done.error["code"]) == (category, code)
    assert PASSWORD.encode() not in done.stdout


def test_neither_the_place_nor_the_password_is_an_argument(tmp_path):
    """The place of a repository may hold a password, and other users can read arguments."""
    row = '[{"id":"a","short_id":"a","time":"t","tree":"t","paths":["%s"],"hostname":"%s","username":"u"}]'
    place = "rest:https://me:topsecret1@backup.example.org/"
    then = f"""[ "$RESTIC_REPOSITORY" = {place} ] && told=yes; printf '{row}' "$*" "$told" """

    env = stand_in(tmp_path, "restic", then=then) | {"RESTIC_PASSWORD": PASSWORD}
    done = wrap("restic", "snapshots", "--repo", place, env=env)

    assert done.summary["ok"] is True
    (snapshot,) = done.results
    assert snapshot["paths"] == ["snapshots --no-cache --json --no-lock"]
    assert snapshot["hostname"] == "yes"
    assert b"topsecret1" not in done.stdout


def test_the_place_can_be_given_and_is_shown_without_its_password(repo):
    """Also where the environment names another one, which the program would not choose between."""
    env = {"RESTIC_REPOSITORY": "/nowhere/at/all"}
    done = repo("stats", "--repo", str(repo.path), env=env)
    plan = repo("init", "--repo", "rest:https://me:topsecret1@backup.example.org/", "--dry-run", env=env)

    assert done.summary["ok"] is True
    assert plan.of("aoi:plan")
    assert b"topsecret1" not in plan.stdout


STATUS = '{"message_type":"status","percent_done":0.5,"total_bytes":10,"bytes_done":5}\n'
SUMMARY = (
    '{"message_type":"summary","files_new":1,"data_added":3,"total_files_processed":1,"snapshot_id":"ab12"}\n'
)


def test_files_that_cannot_be_read_leave_a_snapshot_and_a_partial_verdict(tmp_path):
    """Exit status 3; the reason is a text in one version and an object in another."""
    errors = (
        '{"message_type":"error","error":{"message":"permission denied"},"during":"archival","item":"/x"}\n'
        '{"message_type":"error","error":"odd","during":"archival","item":"/y"}\n'
    )
    env = stand_in(tmp_path, "restic", prints=STATUS + errors + SUMMARY, status=3)

    done = wrap("restic", "backup", str(tmp_path), env=env)

    assert [(each["code"], each["item"]) for each in done.of("aoi:warning")] == [
        ("BACKUP_ITEM_FAILED", "/x"),
        ("BACKUP_ITEM_FAILED", "/y"),
    ]
    assert done.of("aoi:progress")[0]["done"] == 5
    assert done.results[0]["id"] == "ab12"
    assert (done.error["code"], done.summary["ok"]) == ("BACKUP_INCOMPLETE", False)


@pytest.mark.parametrize("prints", [STATUS, STATUS + SUMMARY[:40], ""])
def test_a_backup_that_stops_before_its_summary_is_never_ok(tmp_path, prints):
    done = wrap("restic", "backup", str(tmp_path), env=stand_in(tmp_path, "restic", prints=prints))

    assert (done.error["code"], done.summary["ok"]) == ("UPSTREAM_INCOMPLETE", False)


def test_prose_between_the_lines_is_counted(tmp_path):
    prints = "open repository\n" + SUMMARY

    done = wrap("restic", "backup", str(tmp_path), env=stand_in(tmp_path, "restic", prints=prints))

    assert done.summary["upstream"]["non_json"] == 1
    assert (done.exit_code, done.results[0]["id"]) == (0, "ab12")


def test_a_snapshot_is_planned_then_restored_and_overwrites_nothing(repo, tmp_path):
    repo("backup", str(repo.data))
    target = tmp_path / "there"

    plan = repo("restore", "--target", str(target), "--dry-run")
    assert not target.exists()
    done = repo("restore", "latest", "-t", str(target))
    again = repo("restore", "latest", "-t", str(target))

    (change,) = plan.of("aoi:plan")
    (restored,) = done.results
    assert change["snapshot"] == restored["snapshot"]
    assert (target / str(repo.data).lstrip("/") / "two.txt").read_text() == "22"
    assert (restored["bytes"], restored["verified"], done.summary["ok"]) == (3, True, True)
    assert (again.results, again.error["code"]) == ([], "TARGET_NOT_EMPTY")


def test_a_part_of_a_snapshot_and_one_that_is_not_there(repo, tmp_path):
    empty = repo("restore", "--target", str(tmp_path / "none"))
    repo("backup", str(repo.data))
    part = repo("restore", "--target", str(tmp_path / "part"), "--include", "one.txt", "--no-verify")
    unknown = repo("restore", "0123456789", "--target", str(tmp_path / "none"))

    assert (empty.error["code"], unknown.error["code"]) == ("SNAPSHOT_NOT_FOUND", "SNAPSHOT_NOT_FOUND")
    assert [path.name for path in (tmp_path / "part").rglob("*.txt")] == ["one.txt"]
    assert (part.results[0]["verified"], part.summary["ok"]) == (False, True)
    assert not (tmp_path / "none").exists()


def test_files_that_cannot_be_restored_are_no_success(repo, tmp_path):
    repo("backup", str(repo.data))
    for pack in (repo.path / "data").rglob("*"):
        if pack.is_file():
            pack.chmod(0o600)
            pack.write_bytes(b"damaged")

    done = repo("restore", "--target", str(tmp_path / "there"))

    assert (done.summary["ok"], done.results) == (False, [])
