"""The relay as a process of its own, without a sandbox around it: its ports are then ports of this machine."""

import asyncio
import socket
from pathlib import Path

from operable.proc.command import PreparedCommand
from operable.proc.run import CommandOutput, aoutput, output
from operable.proc.sandbox import relay
from operable.proc.sandbox.confinement import Tunnel
from operable.proc.spawn import prepare
from tests.proc.drive import python

LIMIT = 200.0
# Twenty connections at once, each sends its megabyte, says that it has ended, and reads what comes back.
CLIENTS = """
import hashlib, socket, sys, threading
port, many = int(sys.argv[1]), int(sys.argv[2])
results = []
def one(number):
    data = hashlib.sha256(b"%d" % number).digest() * 32768
    with socket.create_connection(("127.0.0.1", port), 20) as s:
        sender = threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR)))
        sender.start()
        got = b""
        while chunk := s.recv(65536): got += chunk
        sender.join()
        results.append(got == data)
threads = [threading.Thread(target=one, args=(n,)) for n in range(many)]
for t in threads: t.start()
for t in threads: t.join()
sys.exit(0 if results == [True] * many else 1)
"""


def free_ports(count: int) -> list[int]:
    doors = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [door.getsockname()[1] for door in doors]
    for door in doors:
        door.close()
    return ports


def behind_relay(path: Path, port: int, forwards: tuple[str, ...], command: list[str]) -> PreparedCommand:
    program, isolated, bare, plain, _, _, *rest = relay.words(Tunnel(str(path), port, forwards))
    words = [program, isolated, bare, plain, relay.__file__, str(path), *rest, *command]
    return prepare(words)._replace(tree=True)


def test_the_command_keeps_its_status_and_nobody_waits_for_the_relay(tmp_path: Path):
    (port,) = free_ports(1)

    told = output(
        behind_relay(tmp_path / "none", port, (), ["/bin/sh", "-c", "echo hello; exit 5"]), timeout=LIMIT
    )

    assert (told.stdout, told.status) == (b"hello\n", 5)


def test_a_command_that_a_signal_ended_has_the_status_that_a_shell_gives_it(tmp_path: Path):
    (port,) = free_ports(1)

    told = output(behind_relay(tmp_path / "none", port, (), ["/bin/sh", "-c", "kill -9 $$"]), timeout=LIMIT)

    assert told.status == 128 + 9


def test_the_command_ignores_no_signal_because_the_relay_is_a_python_program(tmp_path: Path):
    (port,) = free_ports(1)
    command = ["/bin/grep", "SigIgn", "/proc/self/status"]

    told = output(behind_relay(tmp_path / "none", port, (), command), timeout=LIMIT)

    assert told.text.split() == ["SigIgn:", "0000000000000000"]


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(65536):
        writer.write(chunk)
        await writer.drain()
    writer.write_eof()
    writer.close()


def test_many_connections_pass_whole_in_both_directions(tmp_path: Path):
    (port,) = free_ports(1)

    async def scene() -> CommandOutput:
        server = await asyncio.start_unix_server(echo, str(tmp_path / "proxy"))
        command = behind_relay(tmp_path / "proxy", port, (), python(CLIENTS, str(port), "20"))
        told = await aoutput(command, timeout=LIMIT)
        server.close()
        return told

    assert asyncio.run(asyncio.wait_for(scene(), 200)).status == 0


def test_a_forwarded_port_asks_the_proxy_first_and_takes_no_for_an_answer(tmp_path: Path):
    port, open_port, closed_port = free_ports(3)
    asked: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0])
        if str(open_port).encode() in asked[-1]:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await echo(reader, writer)
        else:
            writer.write(b"HTTP/1.1 403 Forbidden\r\n\r\n")
            writer.close()

    async def scene() -> list[int | None]:
        server = await asyncio.start_unix_server(proxy, str(tmp_path / "proxy"))
        forwards = (f"127.0.0.1:{open_port}", f"localhost:{closed_port}")
        told = []
        for wanted in (open_port, closed_port):
            command = behind_relay(tmp_path / "proxy", port, forwards, python(CLIENTS, str(wanted), "1"))
            told.append((await aoutput(command, timeout=LIMIT)).status)
        server.close()
        return told

    assert asyncio.run(asyncio.wait_for(scene(), 200)) == [0, 1]
    assert asked == [
        b"CONNECT 127.0.0.1:%d HTTP/1.1" % open_port,
        b"CONNECT localhost:%d HTTP/1.1" % closed_port,
    ]
