"""A profile that is wrong is refused, and a tool that is hostile gets a report: neither reaches past the linter."""

import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from operable.kernel.errors import Fail
from operable.lint import profile
from operable.lint.engine import LintOptions, Report, lint
from operable.lint.schemas import document_flaw, events
from tests.zoo.bases.contract import capabilities, schema
from tests.zoo.breeding import breed

BIN = Path(sys.executable).parent


@pytest.mark.parametrize(
    "text, said",
    [
        ('[tool]\nfiles = { "../x" = "" }\n', "is not a file in the work dir"),
        ('[tool]\nfiles = { "/etc/x" = "" }\n', "is not a file in the work dir"),
        ('[tool]\nfiles = { "a/../../x" = "" }\n', "is not a file in the work dir"),
        ("[tool]\ntimeout = -1\n", "`timeout` must be"),
        ("[tool]\ntimeout = inf\n", "`timeout` must be"),
        ("[tool]\ntimeout = nan\n", "`timeout` must be"),
        ('[tool]\nenv = { "A=B" = "x" }\n', "cannot be the name of a variable"),
        ('[tool]\nenv = { A = "a\\u0000b" }\n', "NUL"),
        ('[tool]\nsetup = [["a\\u0000b"]]\n', "NUL"),
        ('[commands.list]\nargs = ["a\\u0000b"]\n', "NUL"),
        ("a = " + "[" * 100_000, "not TOML"),
    ],
)
def test_a_profile_that_could_do_harm_is_refused_before_anything_runs(tmp_path: Path, text, said):
    path = tmp_path / "aoi-lint.toml"
    path.write_text(text)

    with pytest.raises(Fail, match=said) as caught:
        profile.load(str(path))
    assert (caught.value.category, caught.value.code) == ("usage", "PROFILE_INVALID")


def test_a_profile_that_is_a_directory_is_refused(tmp_path: Path):
    with pytest.raises(Fail, match="cannot be read"):
        profile.load(str(tmp_path))


def test_nothing_is_fetched_for_the_schema_of_a_tool():
    asked: list[str] = []

    class Server(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

    with http.server.HTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        document = {"$schema": schema()["$schema"], "$ref": f"http://127.0.0.1:{server.server_port}/x"}
        told = document_flaw(document), events(document)
        server.shutdown()
        thread.join(10)

    assert asked == []
    assert "has to be whole" in str(told[0])
    assert told[1] is None
    assert "has to be whole" in str(document_flaw({"$ref": "file:///etc/hostname"}))


def tool(tmp_path: Path, manifest: dict[str, Any], code: str = "") -> Path:
    """A program that says this of itself, and otherwise does what `code` says."""
    program = tmp_path / "tool" / "hostile"
    program.parent.mkdir(exist_ok=True)
    program.write_text(
        f"#!{sys.executable}\nimport json, os, sys\nif sys.argv[1:2] == ['capabilities']:\n"
        f"    print({json.dumps(json.dumps(manifest))})\nelif sys.argv[1:2] == ['schema']:\n"
        f"    print({json.dumps(json.dumps(schema()))})\nelse:\n    pass\n{code}"
    )
    program.chmod(0o755)
    return program


def checked(program: Path, *only: str) -> Report:
    return lint(str(program), LintOptions(only=only))


@pytest.mark.needs("bwrap")
def test_the_name_of_a_tool_does_not_become_a_path(tmp_path: Path):
    escape = os.path.relpath(tmp_path / "escaped", "/")
    manifest = capabilities() | {"tool": "../" * 12 + escape}

    checked(tool(tmp_path, manifest), "9")

    assert not (tmp_path / "escaped").exists()


@pytest.mark.needs("bwrap")
def test_a_link_in_its_home_does_not_lead_us_out(tmp_path: Path):
    target = tmp_path / "outside"
    target.mkdir()
    program = tool(
        tmp_path,
        capabilities() | {"tool": "hostile"},
        f"os.path.lexists(os.environ['HOME'] + '/.config') or os.symlink({str(target)!r}, os.environ['HOME'] + '/.config')\n",
    )
    (program.parent / "aoi-lint.toml").write_text('[tool]\nsetup = [["go"]]\n')

    checked(program, "9")

    assert list(target.iterdir()) == []


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize(
    "change",
    [
        {"commands": [{"name": "a\0b"}, {"name": "\n"}, {"name": 7}, "x", {"name": "x" * 300_000}]},
        {"commands": "all of them", "schemas": 7, "aliases": [], "machine_flags": [3]},
        {
            "commands": [
                {"name": "go", "examples": ["go a\0b", 'go "', 5], "event_types": 3, "input_modes": {"a": 1}}
            ]
        },
        {"tool": "a\0b", "commands": [{"name": "go", "read_only": False, "destructive": "yes"}]},
    ],
)
def test_a_manifest_full_of_nonsense_gets_a_report(tmp_path: Path, change):
    report = checked(tool(tmp_path, capabilities() | change))

    assert "fail" in {finding.result for finding in report.findings if finding.label == "1"}


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "\\ud800", "\0"])
def test_discovery_that_cannot_be_decoded_gets_a_report(tmp_path: Path, text):
    program = tmp_path / "hostile"
    program.write_text(f"#!{sys.executable}\nprint({text!r})\n")
    program.chmod(0o755)

    report = lint(str(program), LintOptions(only=("1",)))

    assert {finding.result for finding in report.findings} == {"fail"}


@pytest.mark.needs("bwrap")
def test_sockets_and_pipes_in_the_state_do_not_end_the_run(tmp_path: Path):
    code = "os.path.exists('fifo') or os.mkfifo('fifo')\nimport socket\nsocket.socket(socket.AF_UNIX).bind(f'socket{os.getpid()}')\n"
    program = tool(tmp_path, capabilities(), code)
    (program.parent / "aoi-lint.toml").write_text('[tool]\nsetup = [["go"]]\n')

    assert checked(program, "2").findings


@pytest.mark.needs("bwrap")
@pytest.mark.timeout(600)
def test_nothing_of_a_tool_survives_the_death_of_the_linter(tmp_path: Path):
    program = tmp_path / "sleeper"
    program.write_text("#!/bin/sh\ntrap '' INT TERM\necho started >&2\nwhile :; do sleep 1; done\n")
    program.chmod(0o755)
    (tmp_path / "aoi-lint.toml").write_text("[tool]\ntimeout = 60.0\n")
    process = subprocess.Popen(
        [str(BIN / "aoi-lint"), str(program)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
    )
    try:
        _until(lambda: _alive(str(program)))
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        _until(lambda: not _alive(str(program)))
    finally:
        process.kill()
        process.wait(10)

    assert not _alive(str(program))


def _until(true, limit: float = 30.0) -> None:
    deadline = time.monotonic() + limit
    while not true() and time.monotonic() < deadline:
        threading.Event().wait(0.02)


def _alive(mark: str) -> bool:
    """Whether the tool itself runs: it is the interpreter of its first line, with its path as the argument."""
    for name in os.listdir("/proc"):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0") if name.isdecimal() else []
        except OSError:
            continue
        if words[:2] == [b"/bin/sh", mark.encode()]:
            return True
    return False


@pytest.mark.needs("bwrap")
@pytest.mark.timeout(600)
def test_two_lints_of_one_tool_at_once_do_not_disturb_each_other(tmp_path: Path):
    program = breed("python", tmp_path)
    command = [str(BIN / "aoi-lint"), str(program), "--command", "create", "--output", "jsonl"]

    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]

    assert [process.communicate(timeout=100)[1] for process in processes] == [b"", b""]
    assert [process.returncode for process in processes] == [0, 0]


@pytest.mark.needs("bwrap")
def test_without_a_home_it_works_and_a_lost_reader_ends_it_quietly(tmp_path: Path):
    program = breed("python", tmp_path)
    command = [str(BIN / "aoi-lint"), str(program), "--command", "list", "--only", "3", "--output", "jsonl"]
    env = {"PATH": os.environ["PATH"]}

    done = subprocess.run(command, env=env, capture_output=True, timeout=60, check=False)
    ours, theirs = socket.socketpair()
    ours.close()
    lost = subprocess.run(
        command, env=env, stdout=theirs.fileno(), stderr=subprocess.PIPE, timeout=60, check=False
    )
    theirs.close()

    assert (done.returncode, done.stderr) == (0, b"")
    assert (lost.returncode, lost.stderr) == (141, b"")
