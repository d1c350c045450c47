"""Fetch one file over HTTP(S) for an installer: whole, bounded, checked against its hash before it is used.

Without `verify_sha256` a file is refused unless unpinned files are allowed, and must come over https (or from loopback). The
work is done in a thread, so that a server that sends a byte a minute delays no other work: the deadline and the stop are
waited for here, and the thread gives up at its next byte. Proxies and certificates are those of the environment.
"""

import hashlib
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from operable.host.launch.installer import InstallJob, InstallProgress, MethodFailed
from operable.kernel.errors import Fail
from operable.kernel.redact.urls import redact_url

# The largest agents are below half a gigabyte.
LIMIT = 2 * 1024 * 1024 * 1024
_CHUNK = 256 * 1024
# Between two bytes; a slow mirror is slower than this only when it is gone.
_SILENCE = 30.0
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def fetch(job: InstallJob, target: str, *, limit: int = LIMIT) -> None:
    """Put what `job.install.url` names at `target`; Fail INSTALL_FAILED when its hash is not the declared one."""
    url, pinned = job.install.url or "", job.install.verify_sha256
    if pinned is None and not job.allow_unpinned:
        raise MethodFailed(
            f"{job.install.method} has no verify_sha256: what it would fetch could be anything; "
            "pin it, or allow unpinned installations"
        )
    _check_address(url, pinned=pinned is not None)
    job.say(f"fetching {redact_url(url)}")
    actual = _in_thread(job, lambda over: _download(job, url, target, limit, over))
    if pinned is not None and actual != pinned:
        os.unlink(target)
        raise Fail(
            "validation",
            "INSTALL_FAILED",
            f"what {redact_url(url)} gave is not what the manifest names: sha256 {actual}, expected {pinned}",
            target=redact_url(url),
            hint="do not install it: the file was replaced, or the manifest is wrong",
            aip_code="install_failed",
            expected_sha256=pinned,
            actual_sha256=actual,
        )


def _check_address(url: str, *, pinned: bool) -> None:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError as error:
        raise MethodFailed(f"not an address: {error}") from error
    if parts.scheme not in ("http", "https") or not host:
        raise MethodFailed(f"{redact_url(url)} is neither an https nor an http address")
    if parts.scheme == "http" and not pinned and host not in _LOOPBACK:
        raise MethodFailed(f"{redact_url(url)} is not encrypted and not pinned")


def _in_thread(job: InstallJob, work: Callable[[threading.Event], str]) -> str:
    over, done = threading.Event(), threading.Event()
    results: list[str] = []
    problems: list[BaseException] = []

    def body() -> None:
        try:
            results.append(work(over))
        except BaseException as problem:  # noqa: BLE001 - handed to the waiting thread, which raises it
            problems.append(problem)
        finally:
            done.set()

    threading.Thread(target=body, name="operable-fetch", daemon=True).start()
    deadline = time.monotonic() + job.timeout
    try:
        while not done.wait(0.1):
            if job.stop is not None and job.stop.is_set():
                raise Fail("cancelled", "STOPPED", "the download was stopped")
            if time.monotonic() > deadline:
                raise MethodFailed(f"the download did not end within {job.timeout:g} s")
    finally:
        over.set()
    if problems:
        raise problems[0]
    return results[0]


def _download(job: InstallJob, url: str, target: str, limit: int, over: threading.Event) -> str:
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request

    request = Request(url, headers={"User-Agent": "operable", "Accept-Encoding": "identity"})  # noqa: S310 - checked
    try:
        with _opener().open(request, timeout=_SILENCE) as response:
            return _save(job, response, target, limit, over)
    except HTTPError as problem:
        problem.close()  # it is also the answer, and keeps the connection
        raise MethodFailed(f"cannot fetch {redact_url(url)}: {problem}") from problem
    except (OSError, HTTPException, ValueError) as problem:
        raise MethodFailed(f"cannot fetch {redact_url(url)}: {problem}") from problem


def _save(job: InstallJob, response: Any, target: str, limit: int, over: threading.Event) -> str:
    length = response.headers.get("Content-Length", "")
    total = int(length) if length.isdecimal() else None
    digest, received = hashlib.sha256(), 0
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        while chunk := response.read1(_CHUNK):
            received += len(chunk)
            if over.is_set():
                raise MethodFailed("the download was abandoned")
            if received > limit:
                raise MethodFailed(f"the file is larger than {limit} bytes")
            digest.update(chunk)
            file.write(chunk)
            job.report(InstallProgress("fetch", "fetching", received, total))
    if total is not None and received != total:
        raise MethodFailed(f"the connection ended after {received} of {total} bytes")
    return digest.hexdigest()


def _opener() -> Any:
    from urllib.request import HTTPRedirectHandler, build_opener

    class Redirects(HTTPRedirectHandler):
        """A redirect must not leave encryption, nor leave HTTP."""

        max_redirections = 5

        def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
            if req.full_url.startswith("https:") and not newurl.startswith("https:"):
                raise ValueError("the server redirects to an address that is not encrypted")
            return super().redirect_request(req, fp, code, msg, headers, newurl)

    return build_opener(Redirects)
