"""A conforming tool that keeps nothing itself: its notes are in the memory of a server, on a port of this machine."""

from __future__ import annotations

from pathlib import Path

from operable.lint.evidence import Invocation
from operable.lint.profile import Profile, load
from tests.zoo.breeding import Mutation, breed

PORT = 7391
# One JSON text per connection: null asks for the notes, anything else replaces them. It is ready when it listens.
SERVER = f"""
import json, socket, sys
state = {{"next": 1, "notes": [], "keys": {{}}}}
server = socket.create_server(("127.0.0.1", {PORT}))
print("listening", flush=True)
while True:
    connection, _ = server.accept()
    with connection, connection.makefile("rw") as stream:
        asked = json.loads(stream.readline())
        state = state if asked is None else asked
        stream.write(json.dumps(state) + "\\n")
"""
_LOAD = """    import socket
    try:
        connection = socket.create_connection(("127.0.0.1", %d), 20)
    except OSError:
        raise Problem("unavailable", "NO_SERVER", "the server does not answer")
    with connection, connection.makefile("rw") as stream:
        stream.write(json.dumps(asked) + "\\n")
        stream.flush()
        return json.loads(stream.readline())


def load():
    return ask(None)


def save(state):
    ask(state)


"""
_OLD_STORE = """def load():
    try:
        with open(STORE) as file:
            return json.load(file)
    except FileNotFoundError:
        return {"next": 1, "notes": [], "keys": {}}


def save(state):
    os.makedirs(os.path.dirname(STORE) or ".", exist_ok=True)
    with open(STORE + ".new", "w") as file:
        json.dump(state, file)
    os.replace(STORE + ".new", STORE)


"""
TITLES = ("first", "second", "third", "fourth")


def served(
    folder: Path,
    *changes: tuple[str, str],
    server: str = SERVER,
    where: str = "[tool]",
    timeout: float = 60.0,
) -> Path:
    """The tool in this folder, with a profile that puts the server beside it; `changes`: old and new text of the program."""
    store = (_OLD_STORE, "def ask(asked):\n" + _LOAD % PORT)
    program = breed(
        "python",
        folder,
        Mutation("served", "python", "", (), tuple(("notes", old, new) for old, new in (store, *changes))),
    )
    (folder / "server.py").write_text(server)
    profile = folder / "aoi-lint.toml"
    text = profile.read_text().replace("[tool]\n", f"[tool]\ntimeout = {timeout}\n")
    beside = 'beside = [["/usr/bin/python3", "-IS", "{profile}/server.py"]]\n'
    profile.write_text(text.replace(f"{where}\n", f"{where}\n{beside}"))
    return program


def profile_of(program: Path) -> Profile:
    return load(str(program.parent / "aoi-lint.toml"))


def call(*words: str) -> Invocation:
    return Invocation((*words, "--output", "jsonl"))
