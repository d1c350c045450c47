"""The TypeScript client reads as Python reads: the same events and verdicts for the same bytes, however they are cut."""

import base64
import json
import os
import random
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from operable.wire.aoi import Reader
from operable.wire.framework import plain
from tests.clients.typescript import CLIENT, asked, built
from tests.reference.test_vectors import VECTORS, expected
from tests.reference.tools import ready
from tests.serve.daemon import serving
from tests.wire.test_aoi_properties import FRAGMENTS
from tests.wire.test_recorded import EXPECTED, STREAMS

pytestmark = [pytest.mark.needs("node", "npm"), pytest.mark.timeout(600)]

STATUSES = [None, 0, 1, 65, 130, 141, 143, -2, -9, -13, -15]
OPTIONS = [{}, {"acceptPartial": True}, {"strict": True}, {"unbounded": True}, {"limit": 200}]
MORE = [
    b'{"type":"aoi:meta","tool":"t","tool_version":"1","aoi_version":"0.9","schema_name":"s","schema_version":"1","argv":[]}',
    b'{"type":"aoi:meta","tool":"t","aoi_version":"0.2","args":1,"unbounded":true}',
    b'{"type":"aoi:summary","ok":true,"count":3,"warning_count":1,"error_count":9}',
    b'{"type":"aoi:summary","ok":true,"count":1.0}',
    b'{"type":"aoi:summary","ok":true,"count":12345678901234567890123}',
    b'{"type":"aoi:summary","ok":1}',
    b'{"type":"aoi:check","name":"a","ok":false}',
    b'{"type":"aoi:check","ok":null}',
    b'{"type":"aoi:plan","action":"x"}',
    b'{"type":"aoi:error","category":"io","code":"not_upper","message":"m","retryable":false,"retry_after":"x"}',
    b'{"type":"aoi:progress","done":"x"}',
    b'{"type":"constructor"}',
    b'{"type":"__proto__","toString":1}',
    b'{"type":"x","__proto__":1,"constructor":{"a":1,"a":2}}',
    b'{"type":"x","a":1,"b":2,"a":3,"b":4}',
    b'{"type":"x","text":"\\ud83d\\ude00 \\u00e9 \\"\\\\/\\b\\f\\n\\r\\t"}',
    b'{"type":"x","text":"\\ud83d"}',
    b'{"type":"x","text":"\\ude00\\ud83d"}',
    b'{"type":"x","n":[0,-0,1e3,1.5E-3,9007199254740993,-12345678901234567890]}',
    b'{"type":"x","n":-1e999}',
    b'{"type":"x","n":01}',
    b'{"type":"x","n":' + b"9" * 5000 + b"}",
    b'{"type":"x","deep":' + b"[" * 150 + b"]" * 150 + b"}",
    b'{"type":"x","text":"\x01"}',
    b'{"type":"x",}',
    b'{"type":"\xf0\x9f\x98\x80","long":"' + "é".encode() * 80 + b'"}',
    b'\xef\xbb\xbf{"type":"x"}',
    b'{"type":"' + b"k" * 70 + b'","' + b"k" * 70 + b'":1,"' + b"k" * 70 + b'":2}',
    b'{"type":"check"}',
    b'{"type":"aoi:' + b"n" * 80 + b'"}',
]


def python(data, exit_status, options):
    """What the Python reader says; fed line by line, since a look ahead in a chunk may note more."""
    names = {"acceptPartial": "accept_partial"}
    reader = Reader(**{names.get(name, name): value for name, value in options.items()})
    *lines, rest = data.split(b"\n")
    events = [event for line in [*(line + b"\n" for line in lines), rest] for event in reader.feed(line)]
    events += reader.close()
    return reader.eof(exit_status), [plain(event) for event in events]


def as_document(verdict):
    def sent(event):
        return None if event is None else plain(event)

    return {
        "outcome": verdict.outcome,
        "code": verdict.code,
        "reason": verdict.reason,
        "line": verdict.line,
        "exitStatus": verdict.exit_status,
        "meta": sent(verdict.meta),
        "summary": sent(verdict.summary),
        "lastError": sent(verdict.last_error),
        "counts": msgspec.to_builtins(verdict.counts),
        "notes": msgspec.to_builtins(list(verdict.notes)),
        "ok": verdict.ok,
        "exitCode": verdict.exit_code,
    }


def canonical(document):
    """One form for both: the words of the two parsers about what is not JSON are their own."""
    if document["verdict"]["code"] == "NOT_JSON":
        document["verdict"]["reason"] = document["verdict"]["reason"].partition(" is not JSON: ")[0]
    return json.dumps(whole(document), sort_keys=True)


def whole(value):
    """JavaScript has one kind of number: 15.0 is 15."""
    if isinstance(value, dict):
        return {name: whole(each) for name, each in value.items()}
    if isinstance(value, list):
        return [whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def same(streams):
    """Ask both about each stream (bytes, exit status, options, size of chunks), and compare what they say."""
    requests = [
        {
            "do": "judge",
            "data": base64.b64encode(data).decode(),
            "exitStatus": status,
            "options": options,
            "chunk": chunk,
        }
        for data, status, options, chunk in streams
    ]
    differences = []
    for (data, status, options, _), answer in zip(streams, asked(requests), strict=True):
        verdict, events = python(data, status, options)
        ours = canonical({"verdict": as_document(verdict), "events": events})
        if canonical(answer) != ours:
            differences.append((data[:400], status, options, ours, canonical(answer)))
    assert not differences, "\n".join(map(str, differences[0]))
    return len(requests)


def test_every_recorded_stream_has_the_same_events_and_verdict():
    count = same(
        [
            ((STREAMS / f"{name}.jsonl").read_bytes(), status, options, chunk)
            for name, (own, *_) in EXPECTED.items()
            for status in (own, None, 0)
            for options in OPTIONS[:4]
            for chunk in (7, 65536)
        ]
    )

    assert count > 700


def test_every_vector_of_the_reference_tools_has_the_same_events_and_verdict():
    vectors: list[Any] = [vector.values[0] for vector in VECTORS]
    steps = [step for vector in vectors for step in vector["runs"] if "document" not in step]

    assert same([(expected(step, ready("python")).encode(), step["exit"], {}, 4096) for step in steps]) > 50


def test_random_streams_of_good_and_bad_lines_have_the_same_events_and_verdict():
    draw = random.Random(18)
    lines = [*FRAGMENTS, *MORE]
    streams = []
    for _ in range(1500):
        parts = [
            draw.choice(lines[:17] if draw.random() < 0.7 else lines) for _ in range(draw.randrange(1, 7))
        ]
        ends = [draw.choice([b"\n", b"\n", b"\n", b"\r\n", b" \n"]) for _ in parts]
        data = b"".join(part + end for part, end in zip(parts, ends, strict=True))
        if draw.random() < 0.3:
            data = data.rstrip(b"\n")
        streams.append((data, draw.choice(STATUSES), draw.choice(OPTIONS), draw.choice([1, 3, 64, 65536])))
    streams += [(line + b"\n", 0, options, 65536) for line in lines for options in OPTIONS]

    same(streams)


def test_messages_of_a_stream_are_the_same_however_it_is_cut():
    text = (
        ': a comment\n\nid: 1\nevent: text-delta\ndata: {"text":"é"}\n\n'
        "data: one\r\ndata: two\r\n\r\nid\ndata\n\nevent: lost\n\ndata:  kept\n\ndata: cut"
    )
    data = base64.b64encode(text.encode()).decode()
    answers = asked([{"do": "messages", "data": data, "chunk": chunk} for chunk in (1, 2, 5, 1000)])

    assert answers[0]["messages"] == [
        {"event": "text-delta", "id": "1", "data": '{"text":"é"}'},
        {"event": "message", "id": "1", "data": "one\ntwo"},
        {"event": "message", "id": "", "data": ""},
        {"event": "message", "id": "", "data": " kept"},
    ]
    assert all(answer == answers[0] for answer in answers)


def test_a_line_in_many_pieces_costs_no_more_than_its_text():
    text = "x" * 2_000_000
    data = base64.b64encode(f"data: {text}\r\n\r\n".encode()).decode()
    (answer,) = asked(
        [{"do": "messages", "data": data, "chunk": 20}]
    )  # hours, if each looked at all before it

    assert answer["messages"] == [{"event": "message", "id": "", "data": text}]


@contextmanager
def answers(respond):
    """The address of a server that answers so, and the requests that it got: path, token, body."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            requests.append((self.path, self.headers.get("Authorization"), body))
            status, headers = respond(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b'{"__proto__":{"polluted":1}}')

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", requests
        finally:
            server.shutdown()
            thread.join()


def test_neither_token_nor_message_reach_another_server_than_the_daemon():
    with (
        answers(lambda _: (200, {})) as (other, stolen),
        answers(lambda path: (307, {"Location": f"{other}{path}"})) as (daemon, requests),
    ):
        about = {
            "do": "request",
            "url": daemon,
            "token": "secret",
            "method": "POST",
            "body": {"text": "private"},
        }
        given = asked([{**about, "path": path} for path in ("/x", f"{other}/x", f"//{other[7:]}/x")])
        found = asked([{**about, "url": other, "path": "/mine"}])

    assert [each["refused"].get("code") for each in given] == ["NOT_FROM_OPERABLE", None, None]
    assert all("another server" in each["refused"]["message"] for each in given[1:])
    assert [request[0] for request in requests] == ["/x"]
    assert [request[0] for request in stolen] == ["/mine"]
    assert found[0]["answer"] == {"__proto__": {"polluted": 1}}


# -- calling tools ----------------------------------------------------------------------------------------------------------


def tool_in(folder, body):
    """A program that prints what the body says."""
    path = folder / "tool.py"
    path.write_text(f"import os, signal, sys, time\nSAY = lambda text: print(text, flush=True)\n{body}\n")
    return [sys.executable, str(path)]


META = '{"type":"aoi:meta","tool":"t","tool_version":"1","aoi_version":"0.2","schema_name":"s","schema_version":"1"}'


def test_a_tool_is_called_in_machine_mode_and_judged():
    outline = str(Path(sys.executable).with_name("outline"))
    listed, refused, missing = asked(
        [
            {"do": "collect", "argv": [outline, "list", "--limit", "2"]},
            {"do": "collect", "argv": [outline, "get", "doc_none"]},
            {"do": "collect", "argv": ["operable-no-such-program"]},
        ]
    )

    assert (listed["verdict"]["code"], listed["verdict"]["exitCode"]) == ("OK", 0)
    assert refused["verdict"]["outcome"] == "failed"
    assert refused["verdict"]["exitCode"] == refused["verdict"]["exitStatus"] > 0
    assert refused["verdict"]["lastError"]["category"] == "not_found"
    assert missing == {"error": "ENOENT"}


def test_input_reaches_the_tool_and_stderr_is_kept(tmp_path):
    argv = tool_in(
        tmp_path,
        f"SAY({META!r}); sys.stderr.write('a word'); text = sys.stdin.read()\n"
        'SAY(\'{"type":"echo","text":"%s"}\' % text); SAY(\'{"type":"aoi:summary","ok":true,"count":1}\')',
    )
    (answer,) = asked([{"do": "collect", "argv": argv, "options": {"stdin": "hello"}}])

    assert answer["results"] == [{"type": "echo", "text": "hello"}]
    assert (answer["verdict"]["code"], answer["stderr"]) == ("OK", "a word")


def test_a_deadline_ends_the_whole_group_and_says_so(tmp_path):
    mark = tmp_path / "pid"
    argv = tool_in(
        tmp_path,
        f"SAY({META!r})\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        f"pid = os.fork()\nif pid: open({str(mark)!r}, 'w').write(str(pid))\ntime.sleep(600)",
    )
    (answer,) = asked([{"do": "collect", "argv": argv, "options": {"timeout": 2}}])

    assert (answer["verdict"]["code"], answer["verdict"]["exitCode"]) == ("DEADLINE_EXCEEDED", 124)
    assert is_gone(int(mark.read_text()))


def test_who_leaves_the_loop_ends_the_tool(tmp_path):
    mark = tmp_path / "pid"
    argv = tool_in(
        tmp_path,
        f"open({str(mark)!r}, 'w').write(str(os.getpid()))\nSAY({META!r}); SAY('{{\"type\":\"ready\"}}'); time.sleep(600)",
    )
    (answer,) = asked([{"do": "leave", "argv": argv}])

    assert answer["verdict"]["outcome"] == "interrupted"
    assert is_gone(int(mark.read_text()))


def test_more_events_than_wanted_end_the_call(tmp_path):
    argv = tool_in(tmp_path, f'SAY({META!r})\nwhile True: SAY(\'{{"type":"row"}}\')')
    (answer,) = asked([{"do": "collect", "argv": argv, "options": {"maxEvents": 5}}])

    assert (answer["verdict"]["code"], len(answer["events"])) == ("EVENT_LIMIT_REACHED", 5)


def is_gone(pid):
    ends = time.monotonic() + 30
    while time.monotonic() < ends:
        try:
            os.kill(pid, 0)
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False


# -- the daemon -------------------------------------------------------------------------------------------------------------


def test_a_session_of_the_daemon_is_followed_and_a_refusal_has_its_category(tmp_path):
    with serving(tmp_path / "home") as daemon:
        about = {"url": daemon.url, "token": daemon.admin.token}
        body = {
            "adapter": "operable-agent",
            "cwd": str(tmp_path),
            "options": {"provider": "offline"},
            "prompt": "script:\nsay Hello from the daemon.",
        }
        started, refused, stranger = asked(
            [
                {"do": "request", **about, "method": "POST", "path": "/sessions/agent", "body": body},
                {"do": "request", **about, "method": "GET", "path": "/sessions/ses_none"},
                {"do": "request", **about, "token": "wrong", "method": "GET", "path": "/info"},
            ]
        )
        session = started["answer"]["id"]
        (whole,) = asked([{"do": "follow", **about, "session": session, "until": "turn-end"}])
        cursor = next(each["id"] for each in whole["messages"] if each["id"])
        (rest,) = asked([{"do": "follow", **about, "session": session, "until": "turn-end", "after": cursor}])

    assert refused["refused"] | {"message": ""} == {
        "status": 404,
        "code": "NO_SUCH_SESSION",
        "category": "not_found",
        "message": "",
    }
    assert (stranger["refused"]["status"], stranger["refused"]["category"]) == (401, "authn")
    said = [json.loads(each["data"])["text"] for each in whole["messages"] if each["event"] == "text-delta"]
    assert "".join(said) == "Hello from the daemon."
    behind = [each for each in whole["messages"] if each["id"] and int(each["id"]) > int(cursor)]
    assert [each["id"] for each in rest["messages"] if each["event"] != "status"] == [
        each["id"] for each in behind if each["event"] != "status"
    ]


def test_the_package_has_its_types_and_no_dependency_at_run_time():
    package = json.loads((CLIENT / "package.json").read_text("utf-8"))

    assert "dependencies" not in package
    assert (built() / "index.d.ts").is_file()
    imported = {
        line.split(" from ")[1].strip("\";'\n")
        for path in CLIENT.glob("src/**/*.ts")
        for line in path.read_text("utf-8").splitlines()
        if line.startswith(("import ", "export ")) and " from " in line
    }
    assert {name for name in imported if not name.startswith((".", "node:"))} == set()
