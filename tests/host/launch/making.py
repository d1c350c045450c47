"""Manifests, programs, machines and people for the tests of launching."""

import os
import select
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from operable.host.launch.installer import LocalMachine
from operable.host.launch.places import Places
from operable.host.launch.readiness import Launch
from operable.manifest.blocks import Install, SandboxBlock, VersionCheck
from operable.manifest.kinds.agent_cli import AgentCli

VERSION = VersionCheck(cmd="agent --version", parse=r"(\d+\.\d+\.\d+)", range=">=1.0.0 <2", timeout_ms=30_000)


def agent(**fields):
    """A manifest that is complete but for what a test is about."""
    plain = {
        "name": "agent",
        "id": "agent",
        "description": "For tests",
        "version": "1.2.3",
        "bin": "agent",
        "install": (),
        "version_check": VERSION,
        "sandbox": SandboxBlock(provider="local", config={}),
        "protocol": "acp",
    }
    return AgentCli(**{**plain, **fields})


def program(path, body="echo agent 1.5.0"):
    """An executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def python(path, body):
    """An executable Python script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable}\n{body}\n")
    path.chmod(0o755)
    return path


def recorder(folder, name, then=""):
    """A program that writes down its words and settings, one call a line, and does what `then` says."""
    body = f'printf "%s|" "$0" "$@" >> {folder}/{name}.calls\necho >> {folder}/{name}.calls\n{then}'
    return program(folder / name, body)


def calls(folder, name):
    """The words of each recorded call, without the program's own."""
    path = folder / f"{name}.calls"
    return (
        [line.rstrip("|").split("|")[1:] for line in path.read_text().splitlines()] if path.exists() else []
    )


class Turnstile:
    """Counts the calls of a program that may change nothing: reading a pipe is all it needs.

    Each call waits at the pipe of its first word until it is let through. The next one is let through only when this one
    has closed the pipe, so that no call counts twice.
    """

    def __init__(self, folder, *words):
        self.passed = []
        self.script = f'read -r _ < "{folder}/$1" && echo agent 1.5.0'
        self._pipes = {word: folder / word for word in words}
        self._over = False
        self._threads = [threading.Thread(target=self._let_through, args=(word,)) for word in words]

    def __enter__(self):
        for path in self._pipes.values():
            path.parent.mkdir(parents=True, exist_ok=True)
            os.mkfifo(path)
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._over = True
        for path, thread in zip(self._pipes.values(), self._threads, strict=True):
            reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            thread.join(10)
            os.close(reader)
            assert not thread.is_alive()

    def _let_through(self, word):
        while True:
            pipe = os.open(self._pipes[word], os.O_WRONLY)  # waits for a reader
            try:
                if self._over:
                    return
                self.passed.append(word)
                os.write(pipe, b"\n")
                waiting = select.poll()
                waiting.register(pipe, 0)  # the error that nobody reads any more comes unasked
                assert waiting.poll(60_000)
            finally:
                os.close(pipe)


def machine(*folders, system="linux", privileged=False, arch="x64"):
    """A machine that has only the programs in these folders and the basic ones."""
    path = os.pathsep.join([*map(str, folders), "/usr/bin", "/bin"])
    return LocalMachine(system, arch, privileged, 4096, path)


def launch(tmp_path, manifest, *folders, **fields):
    """Everything private to the test: state, workspace, search path."""
    state, workspace = tmp_path / "state", tmp_path / "workspace"
    state.mkdir(exist_ok=True)
    workspace.mkdir(exist_ok=True)
    path = os.pathsep.join([*map(str, folders), "/usr/bin", "/bin"])
    plain = {
        "workspace": str(workspace),
        "user": "somebody",
        "folder": str(tmp_path),
        "places": Places(str(state)),
        "machine": machine(*folders),
        "env": {"PATH": path},
    }
    return Launch(manifest, **{**plain, **fields})


def npm(package, **fields):
    return Install(method="npm", package=package, **fields)


class Vault:
    """A store of secrets that shows everything to its test."""

    def __init__(self, **values):
        self.values = dict(values)

    def store(self, slug, value):
        self.values[slug] = value

    def get(self, slug):
        return self.values.get(slug)


class Somebody:
    """A person who answers what the test says, in order, and visits addresses as the test says."""

    def __init__(self, *answers, visit=None, terminal=None):
        self.answers = list(answers)
        self.asked = []
        self.opened = []
        self.visit = visit
        self.terminal = terminal

    def ask(self, question):
        self.asked.append(question)
        return self.answers.pop(0)

    def open_url(self, url, why):
        self.opened.append((url, why))
        if self.visit is not None:
            threading.Thread(target=self.visit, args=(url,), daemon=True).start()


@contextmanager
def server(answers):
    """A web server on loopback: path -> bytes, or a function of the request. Yields its address."""

    class Request(BaseHTTPRequestHandler):
        def do_GET(self):
            answer = answers.get(self.path.partition("?")[0])
            if callable(answer):
                answer(self)
                return
            self.send_response(404 if answer is None else 200)
            self.send_header("Content-Length", str(len(answer or b"")))
            self.end_headers()
            self.wfile.write(answer or b"")

        do_POST = do_GET  # noqa: N815 - the name that http.server looks for

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *_):
            pass

    web = Server(("127.0.0.1", 0), Request)
    thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{web.server_port}"
    finally:
        web.shutdown()
        web.server_close()
        thread.join(10)
