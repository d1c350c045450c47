"""Sessions with the JSON-RPC server as data: how a transcript is read, replayed against a real process, and renewed.

A transcript is a file of JSON lines. The first says what it is about and what it needs:

    {"about": "…", "arguments": ["--compat", "0.5"], "files": {"a.json": {…}, "run": "#!/bin/sh…"},
     "environment": {"NAME": "value"}, "volatile": {"<digest>": "sha256:[0-9a-f]{64}", "<schema>": "object"}}

then `{"send": request}` or `{"line": "any text"}`, each followed by its `{"answer": …}`; what is never answered has none.
`$FOLDER`, `$PYTHON` and `$TESTS` stand for paths. In an answer, a text that is declared as volatile stands for any text
that its pattern matches whole, or for any value of the type that it names. Files that begin with `#!` are programs.

`python -m tests.flow.transcribed FILE…` asks a real server again and writes what it says; read the difference before you
commit it.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).with_name("transcripts")
OPERABLE = str(Path(sys.executable).with_name("operable"))
READY = {
    "jsonrpc": "2.0",
    "method": "agentcli.ready",
    "params": {"ok": True, "manifest_version": "0.2"},
}
_TYPES = {"object": dict, "array": list, "string": str, "number": (int, float), "boolean": bool}
_WAIT = 50  # seconds; only a server that hangs takes them


class Exchange(NamedTuple):
    """One line to the server, and what it must answer; None when it must not."""

    line: str
    answer: Any = None
    as_text: bool = False  # written as a text in the transcript, because it is no request


class Transcript(NamedTuple):
    name: str
    head: dict[str, Any]
    exchanges: list[Exchange]


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.jsonl"))


def read(name: str) -> Transcript:
    head, *lines = [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()]
    exchanges: list[Exchange] = []
    for line in lines:
        match line:
            case {"answer": answer}:
                exchanges[-1] = exchanges[-1]._replace(answer=answer)
            case {"send": request}:
                exchanges.append(Exchange(json.dumps(request)))
            case {"line": text}:
                exchanges.append(Exchange(text, as_text=True))
    return Transcript(name, head, exchanges)


class Replay:
    """A server in a folder of its own, asked one line after the other."""

    def __init__(self, transcript: Transcript, folder: Path) -> None:
        self._words = {
            "$FOLDER": str(folder),
            "$PYTHON": sys.executable,
            "$TESTS": str(Path(__file__).parents[1]),
        }
        head = transcript.head
        for name, content in head.get("files", {}).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            text = content if isinstance(content, str) else json.dumps(content)
            path.write_text(self._filled(text), "utf-8")
            path.chmod(0o700 if text.startswith("#!") else 0o600)
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(folder / "home"),
            "USER": "tester",
            "HOSTNAME": "host",
            **{name: self._filled(value) for name, value in head.get("environment", {}).items()},
        }
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `end`
        self._process = subprocess.Popen(
            [OPERABLE, "rpc", *map(self._filled, head.get("arguments", []))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
            cwd=folder,
        )
        assert self.heard() == READY

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(self._filled(line).encode("utf-8", "surrogateescape") + b"\n")
        self._process.stdin.flush()

    def heard(self) -> Any:
        """The next line of the server, with the folder's path as it is written in transcripts."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise AssertionError(f"the server has ended: {self.end()}")
        return self._normal(json.loads(line))

    def end(self) -> tuple[list[Any], int, str]:
        """The input ends: what else the server says, its status, and its stderr."""
        rest, _ = self._process.communicate(timeout=_WAIT)
        self._errors.seek(0)
        errors = self._errors.read().decode("utf-8", "replace")
        self._errors.close()
        return [json.loads(line) for line in rest.splitlines()], self._process.returncode, errors

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate(timeout=_WAIT)

    def _filled(self, text: str) -> str:
        for name, value in self._words.items():
            text = text.replace(name, value)
        return text

    def _normal(self, value: Any) -> Any:
        text = json.dumps(value)
        for name, path in self._words.items():
            text = text.replace(path, name)
        return json.loads(text)


def differences(expected: Any, found: Any, volatile: dict[str, str], path: str = "$") -> list[str]:
    """Where an answer is not what a transcript says."""
    if isinstance(expected, str) and expected in volatile:
        return [] if _matches(volatile[expected], found) else [f"{path}: {found!r} is no {expected}"]
    if isinstance(expected, dict) and isinstance(found, dict):
        if list(expected) != list(found):
            return [f"{path}: members {list(found)}, not {list(expected)}"]
        return [
            one
            for name in expected
            for one in differences(expected[name], found[name], volatile, f"{path}.{name}")
        ]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [one for index, (a, b) in pairs for one in differences(a, b, volatile, f"{path}[{index}]")]
    same = type(expected) is type(found) and expected == found
    return [] if same else [f"{path}: {found!r}, not {expected!r}"]


def _matches(kind: str, found: Any) -> bool:
    if kind in _TYPES:
        return isinstance(found, _TYPES[kind])  # type: ignore[arg-type]
    return isinstance(found, str) and re.fullmatch(kind, found) is not None


def renewed(transcript: Transcript) -> list[str]:
    """The lines of the transcript with what the server says now; what is declared volatile stays so."""
    volatile = transcript.head.get("volatile", {})
    lines = [json.dumps(transcript.head, ensure_ascii=False)]
    with tempfile.TemporaryDirectory() as folder:
        replay = Replay(transcript, Path(folder).resolve())
        try:
            for exchange in transcript.exchanges:
                lines.append(_said(exchange))
                replay.say(exchange.line)
                if exchange.answer is not None:
                    answer = _kept(exchange.answer, replay.heard(), volatile)
                    lines.append(json.dumps({"answer": answer}, ensure_ascii=False))
        finally:
            replay.kill()
    return lines


def _said(exchange: Exchange) -> str:
    if exchange.as_text:
        return json.dumps({"line": exchange.line})
    return json.dumps({"send": json.loads(exchange.line)}, ensure_ascii=False)


def _kept(expected: Any, found: Any, volatile: dict[str, str]) -> Any:
    if isinstance(expected, str) and expected in volatile and _matches(volatile[expected], found):
        return expected
    if isinstance(expected, dict) and isinstance(found, dict):
        return {name: _kept(expected.get(name), value, volatile) for name, value in found.items()}
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [_kept(a, b, volatile) for a, b in zip(expected, found, strict=True)]
    return found


def main() -> None:
    for argument in sys.argv[1:]:
        name = Path(argument).stem
        text = "\n".join(renewed(read(name))) + "\n"
        (FOLDER / f"{name}.jsonl").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
