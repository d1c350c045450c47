"""The server on real pipes: what is slow waits beside the rest, limits hold, and the end is clean."""

import json
import os
import sys
import threading
from contextlib import contextmanager

import pytest

from operable.flow import operation, operations
from operable.flow.operation import Defaults
from operable.flow.rpc import server as rpc_server
from operable.flow.rpc.server import INLINE_LIMIT, RpcServer
from operable.kernel.errors import EX_SIGPIPE
from tests.requirement import requirement

WAIT = 30
SLOW = '''
"""Waits until a folder says so."""
import os
from operable.flow.operation import Operation

def _run(params, defaults):
    with open(params["gate"]) as gate:  # a named pipe: opens when the test opens its other end
        return {"ok": True, "said": gate.read()}

OPERATION = Operation(method="agentcli.waiting", order=99, summary="", run=_run, slow=True)
'''


@pytest.fixture
def waiting(tmp_path, monkeypatch):
    """A slow method, and the named pipe that lets it end."""
    (tmp_path / "waiting.py").write_text(SLOW, "utf-8")
    monkeypatch.setattr(operations, "__path__", [*operations.__path__, str(tmp_path)])
    operation.method.cache_clear()
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    yield str(gate)
    operation.method.cache_clear()
    sys.modules.pop("operable.flow.operations.waiting", None)


class Client:
    def __init__(self, options):
        theirs_in, self._in = os.pipe()
        self._out, theirs_out = os.pipe()
        self.status = None
        self.theirs = (theirs_in, theirs_out)
        server = RpcServer(Defaults(cwd="/"), stdin=theirs_in, stdout=theirs_out, **options)

        def serve():
            self.status = server.serve()
            os.close(theirs_in)
            os.close(theirs_out)

        self._thread = threading.Thread(target=serve, daemon=True)
        self._thread.start()
        self._reader = open(self._out, "rb")  # noqa: SIM115 - closed by `end`
        self.read()

    def send(self, data):
        view = memoryview(data if isinstance(data, bytes) else json.dumps(data).encode() + b"\n")
        while view:
            view = view[os.write(self._in, view) :]

    def ask(self, name, params=None, id=1):
        self.send({"jsonrpc": "2.0", "id": id, "method": name, "params": params})

    def read(self):
        return json.loads(self._reader.readline())

    def deafen(self):
        self._reader.close()

    def end(self):
        """The client closes its end; the rest of the answers and the exit status."""
        os.close(self._in)
        rest = [] if self._reader.closed else [json.loads(line) for line in self._reader]
        self._thread.join(WAIT)
        assert not self._thread.is_alive()
        self._reader.close()
        return rest, self.status


@contextmanager
def client(**options):
    talking = Client(options)
    yield talking
    assert not talking._thread.is_alive(), "every test ends its server"


def release(gate):
    with open(gate, "w") as end:
        end.write("go")


@requirement("agentcli:rpc:at-once")
def test_a_slow_request_never_holds_up_a_ping(waiting):
    with client() as talking:
        talking.ask("agentcli.waiting", {"gate": waiting}, "slow")
        talking.ask("agentcli.ping", id="quick")
        assert talking.read()["id"] == "quick"
        release(waiting)
        assert talking.read() == {"jsonrpc": "2.0", "id": "slow", "result": {"ok": True, "said": "go"}}
        assert talking.end() == ([], 0)


@requirement("agentcli:rpc:at-once")
def test_any_number_of_slow_requests_holds_up_no_other_slow_or_large_one(waiting):
    gates = [f"{waiting}-{number}" for number in range(40)]
    with client() as talking:
        for gate in gates:
            os.mkfifo(gate)
            # Every other one is large as well.
            room = " " * (INLINE_LIMIT if gate.endswith(("1", "3", "5", "7", "9")) else 0)
            talking.ask("agentcli.waiting", {"gate": gate, "room": room}, gate)
        talking.ask("agentcli.inspect", {}, "slow")
        talking.ask("agentcli.validate", {"manifest": " " * INLINE_LIMIT}, "large")
        assert {talking.read()["id"] for _ in range(2)} == {"slow", "large"}
        for gate in gates:
            release(gate)
        rest, status = talking.end()

    assert {answer["id"] for answer in rest} == set(gates)
    assert all(answer["result"]["said"] == "go" for answer in rest)
    assert status == 0


def test_a_request_that_takes_too_long_is_answered_with_an_error_and_nothing_later(waiting):
    with client(timeout=0.05) as talking:
        talking.ask("agentcli.waiting", {"gate": waiting}, "slow")
        late = talking.read()
        release(waiting)
        talking.ask("agentcli.ping", id="quick")
        assert talking.read()["id"] == "quick"
        assert talking.end() == ([], 0)

    assert (late["id"], late["error"]["code"]) == ("slow", -32000)
    assert late["error"]["data"]["code"] == "timeout"


def test_the_end_of_the_input_lets_what_runs_finish(waiting):
    with client() as talking:
        talking.ask("agentcli.waiting", {"gate": waiting}, "slow")
        os.close(talking._in)
        release(waiting)
        assert talking.read()["result"]["said"] == "go"
        talking._in = os.open(os.devnull, os.O_WRONLY)
        assert talking.end() == ([], 0)


def test_a_large_request_is_answered_by_a_worker_like_a_small_one():
    with client() as talking:
        talking.ask("agentcli.validate", {"manifest": "x" * INLINE_LIMIT}, "large")
        talking.send(b"[" + b" " * INLINE_LIMIT + b"\n")
        answers = {str(answer["id"]): answer for answer in (talking.read(), talking.read())}
        assert talking.end() == ([], 0)

    assert answers["large"]["result"]["errors"] == [{"path": "$", "message": "manifest must be an object"}]
    assert answers["None"]["error"]["code"] == -32700


def test_a_line_beyond_the_limit_is_refused_with_the_limit_and_the_next_is_answered():
    with client(limit=1000) as talking:
        talking.send(b"x" * 5000 + b"\n")
        refused = talking.read()
        talking.send(
            b"x" * 1001 + b"\n" + json.dumps({"jsonrpc": "2.0", "id": 3, "method": "agentcli.ping"}).encode()
        )
        second = talking.read()
        rest, status = talking.end()

    for answer in (refused, second):
        assert answer["id"] is None
        assert answer["error"]["code"] == -32600
        assert answer["error"]["data"] == {
            "code": "invalid_argument", "error_type": "invalid_argument", "limit": 1000
        }  # fmt: skip
    assert [answer["id"] for answer in rest] == [3], "the last line needs no line feed"
    assert status == 0


def test_the_server_ends_when_nobody_reads_any_more():
    with client() as talking:
        talking.deafen()
        talking.ask("agentcli.ping")
        assert talking.end() == ([], EX_SIGPIPE)


def test_a_client_that_asks_faster_than_it_is_answered_fills_its_own_pipe(waiting, monkeypatch):
    monkeypatch.setattr(rpc_server, "PENDING_LIMIT", 2)
    gates = [f"{waiting}-{number}" for number in range(3)]
    with client() as talking:
        for number, gate in enumerate(gates):
            os.mkfifo(gate)
            talking.ask("agentcli.waiting", {"gate": gate}, number)
        talking.ask("agentcli.ping", id="ping")
        release(gates[0])
        answered = [talking.read()["id"], talking.read()["id"]]
        release(gates[1])
        release(gates[2])
        rest = sorted([talking.read()["id"], talking.read()["id"]])
        assert talking.end() == ([], 0)

    assert answered == [0, "ping"], "reading had stopped until one of the two was done"
    assert rest == [1, 2]


def test_descriptors_that_do_not_wait_lose_nothing():
    """Whoever shares a socket or a terminal with us may set it so; a full pipe is then no reason to go."""
    asked = 2000  # their answers are more than a pipe holds
    with client() as talking:
        for descriptor in talking.theirs:
            os.set_blocking(descriptor, False)
        sender = threading.Thread(
            target=lambda: [talking.ask("agentcli.version", id=index) for index in range(asked)], daemon=True
        )
        sender.start()
        answered = [talking.read()["id"] for _ in range(asked)]
        sender.join(WAIT)
        assert talking.end() == ([], 0)

    assert answered == list(range(asked))


def test_the_end_of_the_input_leaves_no_request_without_an_answer(waiting):
    """Its time is up in the moment in which the server stops waiting for it."""
    with client(timeout=0.2) as talking:
        talking.ask("agentcli.waiting", {"gate": waiting}, "slow")
        answers, status = talking.end()
        release(waiting)

    assert [(answer["id"], answer["error"]["data"]["code"]) for answer in answers] == [("slow", "timeout")]
    assert status == 0
