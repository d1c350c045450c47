"""Sessions on disk: found by anybody, and never running for ever."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from itertools import islice
from typing import Any

import pytest

from operable.gate.audit.place import workspace_slug
from operable.host.session import registry as sessions
from operable.host.session.log import SessionLog
from operable.host.session.log_files import read_log
from operable.host.session.registry import Registry, SessionMeta, owner_lives
from operable.kernel.errors import Fail
from operable.wire.events import TextDelta
from tests.growth import calls
from tests.requirement import requirement


def made(tmp_path, name="ses_1", **facts):
    registry = Registry(str(tmp_path / "state"))
    home = registry.create(SessionMeta(name, "hermes", workspace_slug(str(tmp_path)), str(tmp_path)))
    home.save(status="running", **facts)
    return registry, home


def test_a_session_is_found_by_the_beginning_of_its_id(tmp_path):
    registry, home = made(tmp_path, "ses_abc")
    made(tmp_path, "ses_xyz")

    assert registry.session("ses_a").meta == home.meta
    for wrong in ("ses_", "nothing", ""):
        with pytest.raises(Fail) as failure:
            registry.session(wrong)
        assert failure.value.code == "NO_SUCH_SESSION"
        assert failure.value.hint == "operable agent sessions"


@pytest.mark.parametrize("wrong", ["../sessions/ses_abc", "/", ".", "..", "ses_abc/", "ses_abc\0"])
def test_what_is_not_a_name_is_not_a_session(tmp_path, wrong):
    registry, _ = made(tmp_path, "ses_abc")

    with pytest.raises(Fail) as failure:
        registry.session(wrong)
    assert failure.value.code == "NO_SUCH_SESSION"


def test_one_session_costs_the_same_beside_any_number_of_others(tmp_path):
    registry, _ = made(tmp_path, "wanted")
    few = calls(lambda: registry.session("wanted"))
    for number in range(200):
        made(tmp_path, f"ses_{number}")

    assert calls(lambda: registry.session("wanted")) == few
    assert (
        calls(lambda: registry.session("wan")) < few + 3 * 200
    )  # their names are looked at, their files are not


def test_sessions_of_other_workspaces_are_not_mixed(tmp_path):
    registry, _ = made(tmp_path)
    (tmp_path / "other").mkdir()
    registry.create(SessionMeta("ses_2", "goose", workspace_slug(str(tmp_path / "other")), "x"))

    assert [home.meta.id for home in registry.sessions(workspace=str(tmp_path))] == ["ses_1"]
    assert len(registry.sessions()) == 2


def test_two_sessions_cannot_have_one_id(tmp_path):
    made(tmp_path)

    with pytest.raises(Fail) as failure:
        made(tmp_path)

    assert failure.value.code == "SESSION_EXISTS"


def test_a_session_whose_owner_lives_stays_as_it_is(tmp_path):
    registry, home = made(tmp_path)

    assert owner_lives(registry.root, home.meta.owner)
    assert registry.sessions()[0].meta.status == "running"


def test_a_session_whose_owner_was_killed_becomes_an_error_with_its_log_closed(tmp_path):
    script = f"""
        import sys, time
        from operable.host.session.log import SessionLog
        from operable.host.session.registry import Registry, SessionMeta
        from operable.wire.events import TextDelta
        registry = Registry({str(tmp_path)!r})
        home = registry.create(SessionMeta("ses_1", "hermes", "work", "/"))
        home.save(status="running")
        SessionLog(home.folder).append([TextDelta("ses_1", "last words")])
        print(home.folder, flush=True)
        time.sleep(60)
    """
    owner = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    folder = owner.stdout.readline().strip()
    registry = Registry(str(tmp_path))
    before = registry.session("ses_1").meta.status
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()

    after = registry.session("ses_1").meta

    assert before == "running"
    assert (after.status, after.error) == ("error", "interrupted")
    assert after.ended_at is not None
    events: list[Any] = [record.event for record in read_log(folder)]
    assert events[0] == TextDelta("ses_1", "last words")
    assert events[-1].code == "session_interrupted"
    assert registry.session("ses_1").meta == after  # once is enough
    assert len(list(read_log(folder))) == 2


def test_a_fork_of_the_owner_does_not_keep_its_sessions_alive(tmp_path):
    script = f"""
        import os, sys, time
        from operable.host.session.registry import Registry, SessionMeta
        registry = Registry({str(tmp_path)!r})
        home = registry.create(SessionMeta("ses_1", "hermes", "work", "/"))
        child = os.fork()
        if child == 0:
            os.close(1)
            time.sleep(60)
            os._exit(0)
        print(child, flush=True)
        os._exit(0)
    """
    owner = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        text=True,
        timeout=200,
        check=True,
    )
    try:
        assert Registry(str(tmp_path)).session("ses_1").meta.status == "error"
    finally:
        os.kill(int(owner.stdout), signal.SIGKILL)


def test_unknown_fields_of_a_newer_version_and_rubbish_are_left_in_peace(tmp_path):
    registry, home = made(tmp_path)
    path = os.path.join(home.folder, "meta.json")
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(text[:-1] + ',"future":{"x":1}}')
    os.makedirs(os.path.join(os.path.dirname(home.folder), "half-made"))

    assert [each.meta.id for each in registry.sessions()] == ["ses_1"]


@requirement("aip45:security:session-storage-scoped")
def test_stored_sessions_are_for_their_owner_alone(tmp_path):
    _, home = made(tmp_path)
    SessionLog(home.folder).append([TextDelta("s", "x")])

    for folder, _, files in os.walk(tmp_path / "state"):
        assert os.stat(folder).st_mode & 0o077 == 0
        for name in files:
            assert os.stat(os.path.join(folder, name)).st_mode & 0o077 == 0


def test_different_workspaces_have_different_names_and_every_name_is_a_file_name():
    slugs = [workspace_slug(path) for path in ("/a/app", "/b/app", "/", "/x/.. ..", "/x/ü/" + "n" * 300)]

    assert len(set(slugs)) == 5
    assert all("/" not in slug and len(slug) < 60 and not slug.startswith(".") for slug in slugs)


def test_a_follower_of_another_process_sees_everything_and_the_end(tmp_path):
    registry, home = made(tmp_path)

    async def scene():
        log = SessionLog(home.folder)
        log.append([TextDelta("s", "one")])
        seen = []
        async for record in Registry(registry.root).follow(registry.session(home.meta.id)):
            assert isinstance(record.event, TextDelta)
            seen.append(record.event.text)
            if record.id < 3:
                log.append([TextDelta("s", f"after {record.id}")])
            else:
                log.close()
                home.save(status="exited")
        return seen

    assert asyncio.run(asyncio.wait_for(scene(), 200)) == ["one", "after 1", "after 2"]


def test_an_ended_session_can_be_forgotten_and_a_running_one_cannot(tmp_path):
    registry, home = made(tmp_path)

    with pytest.raises(Fail) as running:
        registry.forget(home)
    home.save(status="exited")
    registry.forget(home)

    assert running.value.code == "SESSION_RUNNING"
    assert registry.sessions() == []


def crowd_out(home):
    """Something else has the place of its meta data: nothing can be saved."""
    meta = os.path.join(home.folder, "meta.json")
    os.unlink(meta)
    os.mkdir(meta)


def test_what_cannot_be_saved_is_a_refusal_by_name_and_the_process_itself_knows_it(tmp_path):
    _, home = made(tmp_path)
    crowd_out(home)

    with pytest.raises(Fail) as failure:
        home.save(status="exited")

    assert (failure.value.category, failure.value.code) == ("io", "STATE_UNWRITABLE")
    assert home.meta.status == "exited"


ON_A_FULL_DISK = """
    import resource, sys
    from operable.host.session.registry import Registry, SessionMeta
    from operable.kernel.errors import Fail
    registry = Registry(sys.argv[1])
    home = registry.create(SessionMeta("ses_1", "hermes", "work", "/work", label="before"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    for attempt in (lambda: home.save(label="after"), lambda: registry.create(SessionMeta("ses_2", "h", "work", "/"))):
        try:
            attempt()
        except Fail as problem:
            print(problem.code)
"""


def test_a_disk_that_takes_only_a_part_leaves_the_old_meta_data_and_no_half_session(tmp_path):
    program = [sys.executable, "-c", textwrap.dedent(ON_A_FULL_DISK), str(tmp_path)]
    ran = subprocess.run(program, capture_output=True, text=True, timeout=200, check=True)

    assert ran.stdout == "STATE_UNWRITABLE\n" * 2
    assert os.listdir(tmp_path / "work" / "sessions") == ["ses_1"]
    assert "meta.json" in os.listdir(tmp_path / "work" / "sessions" / "ses_1")
    assert not [
        name for name in os.listdir(tmp_path / "work" / "sessions" / "ses_1") if name.endswith(".new")
    ]
    (home,) = Registry(str(tmp_path)).sessions()
    assert home.meta.label == "before"


def test_an_interrupted_session_that_cannot_be_marked_is_listed_as_interrupted(tmp_path):
    registry, home = made(tmp_path, owner="gone")
    os.mkdir(os.path.join(home.folder, "recovery.lock"))

    (found,) = registry.sessions()

    assert (found.meta.status, found.meta.error) == ("error", "interrupted")


LISTER = """
    import sys
    from operable.host.session.registry import Registry
    print("ready", flush=True)
    sys.stdin.readline()
    print([home.meta.status for home in Registry(sys.argv[1]).sessions()])
"""


def test_several_processes_that_find_an_interrupted_session_mark_it_once(tmp_path):
    registry, home = made(tmp_path, owner="gone")
    asks = os.path.join(home.folder, "asks")
    os.mkdir(asks)
    for number in range(200):
        open(os.path.join(asks, f"{number}.ask"), "w").close()
    words = [sys.executable, "-c", textwrap.dedent(LISTER), registry.root]
    options: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    listers: list[Any] = [subprocess.Popen(words, **options) for _ in range(4)]
    try:
        for lister in listers:
            assert lister.stdout.readline() == "ready\n"
        for lister in listers:
            lister.stdin.write("go\n")
            lister.stdin.flush()
        said = [lister.communicate(timeout=200)[0] for lister in listers]
    finally:
        for lister in listers:
            lister.kill()
            lister.wait()

    assert said == ["['error']\n"] * 4
    assert [getattr(each.event, "code", None) for each in read_log(home.folder)] == ["session_interrupted"]
    assert os.listdir(asks) == []


def test_a_page_of_sessions_reads_what_is_on_it(tmp_path, monkeypatch):
    reads = []
    read = sessions._read

    def noted(folder):
        reads.append(folder)
        return read(folder)

    monkeypatch.setattr(sessions, "_read", noted)
    registry = sessions.Registry(str(tmp_path))
    for number in range(60):
        home = registry.create(
            sessions.SessionMeta(f"ses_{number:03}", "scripted", f"bucket{number % 3}", "/work")
        )
        home.save(status="exited", started_at=f"2026-01-01T00:00:{number:02}.000Z")
    whole = [home.meta.id for home in registry.newest()]
    assert whole == [f"ses_{number:03}" for number in reversed(range(60))]

    reads.clear()
    page = [home.meta.id for home in islice(registry.newest(), 10)]
    last = f"2026-01-01T00:00:{50:02}.000Z {page[-1]}"
    behind = [home.meta.id for home in islice(registry.newest(last), 10)]
    assert page + behind == whole[:20]
    assert len(reads) == 20

    registry.create(sessions.SessionMeta("ses_new", "scripted", "bucket0", "/work"))
    assert next(registry.newest()).meta.id == "ses_new"
    shutil.rmtree(registry.session("ses_new").folder)
    assert next(registry.newest()).meta.id == "ses_059"
