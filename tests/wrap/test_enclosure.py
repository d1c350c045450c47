"""What a manifest says a program may not do, it cannot do; what cannot be enforced is refused before anything starts."""

import http.server
import json
import os
import shutil
import threading
from typing import Any

import pytest

from operable.manifest.blocks import ToolExec, ToolFiles, ToolNetwork, ToolSandbox, ToolTty
from operable.proc.sandbox import restriction
from operable.wrap.enclosure import problem, texts, wanted
from tests.cli.drive import operable
from tests.proc.sandbox.kernel import needs_truncating
from tests.wrap.drive import CHANGES, CLI, TOOL, Made

PRELUDE = '#!/bin/sh\n[ "$1" = --version ] && { echo 1.0; exit; }\n'
REPORT = 'printf \'{"%s":"%s"}\\n\' "$what" "$how"\n'
light = needs_truncating


def sandbox(read=("**",), write=("**",), deny=(), egress=("*",), allow=True, **more: Any) -> dict[str, Any]:
    return {
        "network": {"egress": list(egress), **more.pop("network", {})},
        "fs": {"read": list(read), "write": list(write), "deny": list(deny)},
        "exec": {"allow": allow, **more.pop("exec", {})},
        "env": {"pass": [], "set": {}},
        **more,
    }


def made(folder, script, block, tool=None) -> Made:
    return Made(folder, PRELUDE + script, cli=CLI | {"sandbox": block}, tool=(tool or TOOL) | CHANGES)


def told(done) -> dict[str, str]:
    return {name: value for row in done.results for name, value in row.items() if name != "type"}


TRY_FILES = """
for what in %s; do
  if (echo x > "$what") 2>/dev/null; then how=written; else how=refused; fi
  printf '{"%%s":"%%s"}\\n' "$(basename "$what")" "$how"
done
"""


@light
def test_a_program_that_writes_nothing_cannot(tmp_path):
    block = sandbox(write=())
    done = made(tmp_path, TRY_FILES % f"{tmp_path}/new /dev/null", block).go()

    assert told(done) == {"new": "refused", "null": "written"}
    assert not (tmp_path / "new").exists()


@light
@pytest.mark.needs("bwrap")
@pytest.mark.parametrize("there", [False, True])
def test_folders_to_write_to_that_do_not_exist_need_no_bubblewrap(tmp_path, there):
    """A command that changes nothing then writes nowhere but into its scratch folder; what appears later is not its own."""
    cache, other = tmp_path / "cache", tmp_path / "other"
    other.mkdir()
    if there:
        cache.mkdir()
    needs = {"programs": "a test", "scratch": "a test", "write": "its cache"}
    tool = TOOL | {"metadata": {"operable": {"parse": {"kind": "jsonl"}, "needs": needs}}}
    script = TRY_FILES % f'{cache}/a {other}/b "$TMPDIR"/c'
    block = sandbox(write=(f"{cache}/**",), egress=())
    made = Made(tmp_path, PRELUDE + script, cli=CLI | {"sandbox": block}, tool=tool)

    done = made.go()
    (shown,) = operable("wrap", "show", "prog", env=made.env).results

    assert told(done) == {"a": "written" if there else "refused", "b": "refused", "c": "written"}
    assert list(other.iterdir()) == []
    assert shown["enforced_by"] == ("bubblewrap" if there else "Landlock and seccomp")


@light
def test_a_program_without_processes_of_its_own_is_told_by_the_system(tmp_path):
    done = made(tmp_path, "echo '{\"a\":1}'\nls >/dev/null\necho '{\"a\":2}'\n", sandbox(allow=False)).go()

    assert [row["a"] for row in done.results] == [1]
    assert (done.error["category"], done.error["code"]) == ("config", "SANDBOX_DENIED")
    assert done.error["retryable"] is False
    assert "OPERABLE_UNCONFINED" in done.error["hint"]
    assert "fork" in done.error["upstream_stderr"]


@light
def test_doctor_finds_a_program_that_starts_others_before_it_answers(tmp_path):
    from tests.cli.drive import operable

    shim = '#!/bin/sh\nfound=$(echo /bin/echo)\nexec "$found" 1.0\n'
    wrapper = Made(tmp_path, shim, cli=CLI | {"sandbox": sandbox(allow=False)})

    checked = operable("wrap", "doctor", "prog", env=wrapper.env)
    shown = operable("wrap", "doctor", "prog", env=wrapper.env, output=None)

    checks = {each["name"]: each for each in map(json.loads, checked.stdout.splitlines()) if "name" in each}
    assert [checks[f"prog.{name}"]["ok"] for name in ("binary", "version", "sandbox")] == [True, True, False]
    assert "starting other programs" in checks["prog.sandbox"]["detail"]
    assert "hint: put the program itself on PATH" in shown.stdout.decode()


def test_a_program_that_may_everything_runs_as_it_is(tmp_path):
    done = made(tmp_path, TRY_FILES % f"{tmp_path}/new", sandbox()).go()

    assert told(done) == {"new": "written"}
    assert wanted(_block(write=("**",), egress=("*",), allow=True)) is None


@light
def test_a_command_may_narrow_what_its_bundle_allows(tmp_path):
    narrow = TOOL | {"sandbox": sandbox(write=())}
    done = made(tmp_path, TRY_FILES % f"{tmp_path}/new", sandbox(), tool=narrow).go()

    assert told(done) == {"new": "refused"}


@pytest.mark.needs("bwrap")
def test_only_the_named_folders_can_be_written(tmp_path):
    (tmp_path / "out").mkdir()
    script = TRY_FILES % f"{tmp_path}/new {tmp_path}/out/inside"
    done = made(tmp_path, script, sandbox(write=[f"{tmp_path}/out/**"])).go(cwd=tmp_path)

    assert told(done) == {"new": "refused", "inside": "written"}
    assert (tmp_path / "out" / "inside").read_text() == "x\n"


@pytest.mark.needs("bwrap")
def test_what_is_denied_is_neither_read_nor_written_and_all_else_is(tmp_path):
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "secret").write_text("s3cret")
    (tmp_path / "token").write_text("s3cret")
    (tmp_path / "open").write_text("fine")
    script = (
        f"for what in keys/secret token open; do how=$(cat {tmp_path}/$what 2>/dev/null); {REPORT} done\n"
        + TRY_FILES % f"{tmp_path}/keys/new {tmp_path}/new"
    )
    block = sandbox(deny=[f"{tmp_path}/keys/**", f"{tmp_path}/token"])

    done = made(tmp_path, script, block).go(cwd=tmp_path)

    assert told(done) == {"keys/secret": "", "token": "", "open": "fine", "new": "written"}
    assert os.listdir(tmp_path / "keys") == ["secret"]


@pytest.mark.needs("bwrap")
def test_only_the_named_folders_can_be_read(tmp_path):
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    script = f"for what in in out; do how=$(cat {tmp_path}/$what/file 2>/dev/null); {REPORT} done\n"
    done = made(tmp_path, script, sandbox(read=[f"{tmp_path}/in/**"], write=())).go(cwd=tmp_path / "in")

    assert told(done) == {"in": "in", "out": ""}


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize("target", ["{tmp_path}/real", "real"])
def test_what_is_denied_by_a_link_is_hidden_where_it_is(tmp_path, target):
    """Bubblewrap cannot mount over an absolute link, and its failure was read as the status of the program."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "secret").write_text("s3cret")
    (tmp_path / "link").symlink_to(target.format(tmp_path=tmp_path))
    script = f"for what in link real; do how=$(cat {tmp_path}/$what/secret 2>/dev/null); {REPORT} done\n"

    done = made(tmp_path, script, sandbox(deny=[f"{tmp_path}/link/**"])).go(cwd=tmp_path)

    assert told(done) == {"link": "", "real": ""}


@pytest.mark.needs("bwrap")
def test_a_sandbox_that_cannot_be_put_up_is_an_error_where_the_status_1_of_the_program_is_an_answer(tmp_path):
    (tmp_path / "unmountable").mkdir()
    own = {"exits": {"1": {"ok": True}}, "stderr": "ignore"}
    cli = CLI | {"sandbox": sandbox(deny=[f"{tmp_path}/unmountable/**"]), "metadata": {"operable": own}}
    wrapper = Made(tmp_path, PRELUDE + "exit 1\n", cli=cli, tool=TOOL | CHANGES)
    assert wrapper.go(cwd=tmp_path).summary["ok"] is True
    # As a bubblewrap that the kernel refuses a mount: it says so, and ends with 1.
    (wrapper.bin / "bwrap").write_text(
        '#!/bin/sh\ncase "$*" in *unmountable*) echo "bwrap: Can\'t mount it" >&2; exit 1;; esac\n'
        f'exec {shutil.which("bwrap")} "$@"\n'
    )
    (wrapper.bin / "bwrap").chmod(0o755)

    done = wrapper.go(cwd=tmp_path)

    assert done.summary["ok"] is False
    assert [error["code"] for error in done.of("aoi:error")] == ["SANDBOX_FAILED"]
    assert "Can't mount it" in done.of("aoi:error")[0]["message"]


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize("wide", [False, True])
def test_a_folder_that_is_named_by_a_link_is_shown_by_both_names(tmp_path, wide):
    for name in ("in", "real", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    (tmp_path / "in" / "link").symlink_to(tmp_path / "real")
    read = [f"{tmp_path}/in/**", f"{tmp_path}/in/link/**"] if wide else [f"{tmp_path}/in/link/**"]
    script = (
        f"for what in in/link real other; do how=$(cat {tmp_path}/$what/file 2>/dev/null); {REPORT} done\n"
    )
    script += TRY_FILES % f"{tmp_path}/in/link/new {tmp_path}/other/other"

    block = sandbox(read=read, write=[f"{tmp_path}/in/link/**"])
    done = made(tmp_path, script, block).go(cwd=tmp_path / "real")

    assert told(done) == {"in/link": "real", "real": "real", "other": "refused", "new": "written"}


@pytest.fixture
def service():
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join(20)


FETCH = "how=$(curl -s --max-time 20 http://127.0.0.1:PORT/); what=answer\n" + REPORT


@pytest.mark.needs("curl", "bwrap")
@pytest.mark.parametrize(
    "egress, answer", [(["*"], "hello"), ([], ""), ("own", "hello"), (["example.org"], "")]
)
def test_only_the_named_hosts_are_reached(tmp_path, service, egress, answer):
    hosts = [f"127.0.0.1:{service}"] if egress == "own" else egress
    done = made(tmp_path, FETCH.replace("PORT", str(service)), sandbox(egress=hosts)).go()

    assert told(done) == {"answer": answer}
    assert done.summary["ok"] is True


@pytest.mark.parametrize(
    "block, item",
    [
        (sandbox(tty={"required": True}), "tty.required"),
        (sandbox(exec={"spawn": ["git"]}), "exec.spawn"),
        (sandbox(egress=(), network={"ingress": ["127.0.0.1:80"]}), "network.ingress"),
        (sandbox(deny=["**/.env"]), "fs.deny"),
        (sandbox(write=["/tmp/*.txt"]), "fs.write"),
    ],
)
def test_what_cannot_be_enforced_is_refused_before_anything_runs(tmp_path, block, item):
    wrapper = made(tmp_path, f"touch {tmp_path}/ran\n", block)

    done = wrapper.go()

    assert (done.exit_code, done.error["category"], done.error["code"]) == (
        78,
        "config",
        "SANDBOX_CANNOT_ENFORCE",
    )
    assert [each["item"] for each in done.error["refused"]] == [item]
    assert not (tmp_path / "ran").exists()


def test_a_user_may_run_it_unconfined_by_saying_so(tmp_path):
    wrapper = made(tmp_path, TRY_FILES % f"{tmp_path}/new", sandbox(write=(), exec={"spawn": ["git"]}))

    done = wrapper.go(env={"OPERABLE_UNCONFINED": "1"})

    assert told(done) == {"new": "written"}
    assert done.summary["upstream"]["sandbox"] == "none"


def test_a_machine_that_cannot_confine_refuses_and_says_how_to_run_it_nevertheless(monkeypatch):
    from operable.proc.sandboxes import bubblewrap

    monkeypatch.setattr(restriction, "missing", lambda what: "there is no Landlock" if what else None)
    bubblewrap._missing.cache_clear()
    monkeypatch.setenv("PATH", "/nowhere")
    try:
        found = problem(wanted(_block(write=(), egress=(), allow=True)))
    finally:
        bubblewrap._missing.cache_clear()

    assert found is not None
    assert found.code == "SANDBOX_UNAVAILABLE"
    assert "no Landlock" in found.message
    assert "bwrap" in found.message
    assert "OPERABLE_UNCONFINED" in (found.hint or "")


@pytest.mark.needs("bwrap")
def test_without_landlock_the_same_is_held_by_bubblewrap(tmp_path, monkeypatch):
    from operable.proc.run import output
    from operable.proc.spawn import prepare
    from operable.wrap.enclosure import ConfinedCommand

    monkeypatch.setattr(restriction, "missing", lambda what: "there is no Landlock" if what else None)
    (tmp_path / "file").write_text("text")
    script = f"cat {tmp_path}/file; echo x > {tmp_path}/new; wc -l < /proc/net/route"
    with ConfinedCommand(
        prepare(["sh", "-c", script]), wanted(_block(write=(), egress=(), allow=True))
    ) as command:
        done = output(command, timeout=60)

    assert done.stdout == b"text1\n"
    assert not (tmp_path / "new").exists()


def test_doctor_and_show_tell_what_is_enforced(tmp_path):
    from tests.cli.drive import operable

    wrapper = made(tmp_path, "", sandbox(write=(), egress=()))
    shown = operable("wrap", "show", "prog", env=wrapper.env)
    checked = operable("wrap", "doctor", "prog", env=wrapper.env)

    assert shown.results[0]["sandbox"] == ["writes nothing", "no network"]
    checks = {each["name"]: each for each in map(json.loads, checked.stdout.splitlines()) if "name" in each}
    assert "writes nothing; no network" in checks["prog.sandbox"]["detail"]


def test_people_are_told_in_words():
    block = _block(write=("~/out/**",), deny=("~/.ssh/**",), egress=("api.example.org",), allow=False)
    assert texts(wanted(block)) == [
        "no other processes",
        "writes only ~/out/**",
        "reaches only api.example.org",
        "neither reads nor writes ~/.ssh/**",
    ]


def _block(write, egress, allow, deny=()) -> ToolSandbox:
    return ToolSandbox(
        network=ToolNetwork(egress=tuple(egress)),
        fs=ToolFiles(read=("**",), write=tuple(write), deny=tuple(deny)),
        exec=ToolExec(allow=allow),
        tty=ToolTty(),
    )
