import hashlib
import io
import os
import tarfile
import threading
from pathlib import Path

import pytest

from operable.host.launch.fetch import fetch
from operable.host.launch.installer import InstallProgress, MethodFailed
from operable.kernel.errors import Fail
from tests.host.installers.working import job, run
from tests.host.launch.making import server
from tests.requirement import requirement

SCRIPT = b'#!/bin/sh\nmkdir -p "$PREFIX/bin"\nprintf "#!/bin/sh\\necho agent 1.4.0" > "$PREFIX/bin/agent"\nchmod +x "$PREFIX/bin/agent"\n'
PROGRAM = b"#!/bin/sh\necho agent 1.4.0\n"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def archive(name="agent-1.4/bin/agent", content=PROGRAM):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def test_a_script_is_run_after_its_hash_was_checked(tmp_path):
    with server({"/install.sh": SCRIPT}) as url:
        where = run(job(tmp_path, "curl", url=f"{url}/install.sh", verify_sha256=sha256(SCRIPT)))
    assert where[0] == f"{tmp_path}/prefix/bin"
    assert os.access(f"{where[0]}/agent", os.X_OK)
    assert os.listdir(tmp_path / "prefix") == ["bin"]  # the script itself is gone


def test_a_script_without_a_first_line_is_run_by_sh(tmp_path):
    plain = SCRIPT.partition(b"\n")[2]
    with server({"/install.sh": plain}) as url:
        where = run(job(tmp_path, "curl", url=f"{url}/install.sh", verify_sha256=sha256(plain)))
    assert os.access(f"{where[0]}/agent", os.X_OK)


@requirement("aip-substrate:4.2:hash-mismatch", "aip-substrate:4.2:unpinned-script")
def test_a_script_with_another_hash_is_not_run_and_both_hashes_are_named(tmp_path):
    evil = b"#!/bin/sh\ntouch " + str(tmp_path).encode() + b"/owned\n"
    with server({"/install.sh": evil}) as url, pytest.raises(Fail) as caught:
        run(job(tmp_path, "curl", url=f"{url}/install.sh", verify_sha256=sha256(SCRIPT)))
    fail = caught.value
    assert (fail.code, fail.details["aip_code"]) == ("INSTALL_FAILED", "install_failed")
    assert sha256(evil) in fail.message
    assert sha256(SCRIPT) in fail.message
    assert not (tmp_path / "owned").exists()
    assert os.listdir(tmp_path / "prefix") == []


@requirement("aip-substrate:4.2:unpinned-script")
@pytest.mark.parametrize("method", ["curl", "download"])
def test_what_is_not_pinned_is_refused_before_it_is_fetched(tmp_path, method):
    asked: list[object] = []
    with server({"/x": asked.append}) as url, pytest.raises(MethodFailed, match="verify_sha256"):
        run(job(tmp_path, method, url=f"{url}/x", extract_bin="agent"))
    assert asked == []


@pytest.mark.parametrize("method, content", [("curl", SCRIPT), ("download", archive())])
def test_what_is_not_pinned_can_be_allowed(tmp_path, method, content):
    with server({"/x": content}) as url:
        where = run(job(tmp_path, method, url=f"{url}/x", extract_bin="agent", allow_unpinned=True))
    assert os.access(f"{where[0]}/agent", os.X_OK)


@pytest.mark.parametrize("content", [b"\x7fELF\0\0", b"<!doctype html><p>Not found"])
def test_what_is_no_script_is_not_run(tmp_path, content):
    with server({"/x": content}) as url, pytest.raises(MethodFailed, match="not a script"):
        run(job(tmp_path, "curl", url=f"{url}/x", verify_sha256=sha256(content)))


def test_a_download_is_unpacked_and_executable(tmp_path):
    data = archive()
    with server({"/agent.tar.gz": data}) as url:
        (where,) = run(
            job(
                tmp_path,
                "download",
                url=f"{url}/agent.tar.gz",
                extract_bin="agent-1.4/bin/agent",
                verify_sha256=sha256(data),
            )
        )
    assert oct(os.stat(f"{where}/agent").st_mode & 0o777) == "0o755"
    assert Path(where, "agent").read_bytes() == PROGRAM
    assert os.listdir(tmp_path / "prefix") == ["bin"]


@pytest.mark.parametrize("url", ["ftp://x.example/a", "file:///etc/passwd", "https://", "x", "http://[::1"])
def test_only_web_addresses_are_fetched(tmp_path, url):
    with pytest.raises(MethodFailed):
        fetch(
            job(tmp_path, "download", url=url, extract_bin="a", verify_sha256="0" * 64), str(tmp_path / "f")
        )


def test_an_address_that_is_neither_encrypted_nor_pinned_is_refused(tmp_path):
    with pytest.raises(MethodFailed, match="not encrypted"):
        fetch(job(tmp_path, "download", url="http://x.example/a", allow_unpinned=True), str(tmp_path / "f"))


def test_a_missing_file_and_a_dead_server_are_reasons_to_try_the_next_method(tmp_path):
    with server({}) as url, pytest.raises(MethodFailed, match="404"):
        fetch(job(tmp_path, "download", url=f"{url}/x", verify_sha256="0" * 64), str(tmp_path / "f"))
    with pytest.raises(MethodFailed, match="cannot fetch"):
        fetch(job(tmp_path, "download", url=f"{url}/x", verify_sha256="0" * 64), str(tmp_path / "g"))


def test_a_connection_that_breaks_off_is_not_a_file(tmp_path):
    def short(request):
        request.send_response(200)
        request.send_header("Content-Length", "1000")
        request.end_headers()
        request.wfile.write(b"only this")

    with server({"/x": short}) as url, pytest.raises(MethodFailed):
        fetch(
            job(tmp_path, "download", url=f"{url}/x", verify_sha256=sha256(b"only this")), str(tmp_path / "f")
        )


def test_a_file_without_end_is_given_up(tmp_path):
    def endless(request):
        request.send_response(200)
        request.end_headers()
        while True:
            request.wfile.write(b"x" * 65536)

    with server({"/x": endless}) as url, pytest.raises(MethodFailed, match="larger"):
        fetch(
            job(tmp_path, "download", url=f"{url}/x", verify_sha256="0" * 64),
            str(tmp_path / "f"),
            limit=10**6,
        )


def test_a_server_that_says_nothing_does_not_hold_a_stop(tmp_path):
    stop, asked, over = threading.Event(), threading.Event(), threading.Event()

    def silent(request):
        asked.set()
        stop.set()
        over.wait(200)

    try:
        with server({"/x": silent}) as url, pytest.raises(Fail) as caught:
            fetch(
                job(tmp_path, "download", url=f"{url}/x", verify_sha256="0" * 64, stop=stop),
                str(tmp_path / "f"),
            )
    finally:
        over.set()
    assert asked.is_set()
    assert caught.value.category == "cancelled"


def test_redirects_are_followed_but_not_for_ever(tmp_path):
    def to(place):
        def answer(request):
            request.send_response(302)
            request.send_header("Location", place)
            request.send_header("Content-Length", "0")
            request.end_headers()

        return answer

    with server({"/a": to("/b"), "/b": PROGRAM, "/loop": to("/loop")}) as url:
        fetch(job(tmp_path, "download", url=f"{url}/a", verify_sha256=sha256(PROGRAM)), str(tmp_path / "f"))
        with pytest.raises(MethodFailed):
            fetch(job(tmp_path, "download", url=f"{url}/loop", verify_sha256="0" * 64), str(tmp_path / "g"))


def test_progress_is_told_in_bytes(tmp_path):
    told: list[InstallProgress] = []
    with server({"/x": PROGRAM}) as url:
        work = job(tmp_path, "download", url=f"{url}/x", verify_sha256=sha256(PROGRAM))
        fetch(
            type(work)(work.install, "agent", work.prefix, None, work.machine, report=told.append),
            str(tmp_path / "f"),
        )
    assert (told[-1].stage, told[-1].done, told[-1].total) == ("fetch", len(PROGRAM), len(PROGRAM))


def test_a_download_that_was_stopped_does_not_go_on_behind(tmp_path):
    stop, left = threading.Event(), threading.Event()

    def drip(request):
        request.send_response(200)
        request.end_headers()
        try:
            while not left.wait(0.02):
                request.wfile.write(b"x" * 65536)
                stop.set()
        except OSError:
            left.set()

    with server({"/x": drip}) as url:
        with pytest.raises(Fail, match="stopped"):
            fetch(
                job(tmp_path, "download", url=f"{url}/x", verify_sha256="0" * 64, stop=stop),
                str(tmp_path / "f"),
            )
        assert left.wait(60)
