"""What a person types: kept for the next chat, completed while it is typed, with the files and images that it names."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.history import History

from operable.agent.session.history import image
from operable.cli.terminal.partner import ChatMessage
from operable.kernel.errors import Fail
from operable.state.atomic import open_private, write_all, write_whole
from operable.state.line_file import lines_back, tail
from operable.state.paths import make_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document

_KEPT = 1000  # entries
_LONGEST = 64 * 1024  # bytes of one; a longer one is not kept
_SIZE = 1024 * 1024  # bytes of the file, from which on old entries are dropped
_NAMED = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|(\S+))')
_OFFERED = 200  # files of a folder


class ChatHistory(History):
    """The messages of all chats of this user, newest last. What cannot be written is not kept, and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        try:
            self._path = os.path.join(make_state("chat"), "history.jsonl")
        except Fail:
            self._path = ""

    def load_history_strings(self) -> Iterable[str]:
        """Newest first."""
        return list(self._read())

    def store_string(self, string: str) -> None:
        line = json.dumps(string).encode() + b"\n"
        if not self._path or len(line) > _LONGEST:
            return
        try:
            fd = open_private(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)
            try:
                write_all(fd, line)
                size = os.fstat(fd).st_size
            finally:
                os.close(fd)
            if size > _SIZE:
                kept = [json.dumps(text).encode() + b"\n" for text in self._read()]
                write_whole(self._path, b"".join(reversed(kept)), durable=False)
        except OSError:
            return  # a full disk: the message is sent all the same

    def _read(self) -> Iterator[str]:
        if not self._path:
            return
        try:
            fd = open_private(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return
        try:
            end, _ = tail(fd, limit=_LONGEST)
            for count, line in enumerate(lines_back(fd, max(end, 0), limit=_LONGEST)):
                if count >= _KEPT:
                    return
                try:
                    text = json.loads(line)
                except ValueError:
                    continue  # a torn line
                if isinstance(text, str):
                    yield text
        finally:
            os.close(fd)


class EntryCompleter(Completer):
    """Words behind a slash at the beginning, their values, and files behind an at sign."""

    def __init__(
        self,
        commands: Callable[[], Mapping[str, str]],
        values: Callable[[str], Sequence[str]],
        workspace: str,
    ) -> None:
        self._commands = commands
        self._values = values
        self._workspace = workspace

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        del complete_event
        before = document.text_before_cursor
        if before.startswith("/") and "\n" not in before:
            word, space, value = before.partition(" ")
            if not space:
                yield from _starting(word, self._commands())
            else:
                for known in self._values(word):
                    if known.startswith(value):
                        yield Completion(known, -len(value))
            return
        part = re.search(r"(?<!\S)@(\S*)$", before)
        if part is not None:
            yield from self._files(part[1])

    def _files(self, typed: str) -> Iterator[Completion]:
        folder, _, name = typed.rpartition("/")
        place = os.path.join(self._workspace, os.path.expanduser(f"{folder}/" if folder else ""))
        try:
            with os.scandir(place) as entries:
                found = [entry for entry in entries if entry.name.startswith(name)]
        except (OSError, ValueError):
            return
        shown = [entry for entry in found if name.startswith(".") or not entry.name.startswith(".")]
        for entry in sorted(shown, key=lambda entry: entry.name)[:_OFFERED]:
            text = entry.name + ("/" if entry.is_dir() else "")
            if text.isprintable() and " " not in text:
                yield Completion(text, -len(name))


def _starting(word: str, commands: Mapping[str, str]) -> Iterator[Completion]:
    for name, meaning in commands.items():
        if name.startswith(word):
            yield Completion(name, -len(word), display_meta=meaning)


def message(text: str, workspace: str) -> ChatMessage:
    """What was typed, with the files that it names by `@path`. What is not a file stays a word."""
    files, images = [], []
    for match in _NAMED.finditer(text):
        path = _existing(match[1] or match[2], workspace)
        if path is not None and path not in files:
            files.append(path)
            block = image(os.path.join(workspace, os.path.expanduser(path)))
            if block is not None:
                images.append((block.media_type, block.data))
    return ChatMessage(text, tuple(files), tuple(images))


def _existing(path: str, workspace: str) -> str | None:
    """The path, perhaps without the punctuation of a sentence."""
    for each in (path, path.rstrip(".,;:!?)")):
        try:
            if each and os.path.exists(os.path.join(workspace, os.path.expanduser(each))):
                return os.path.expanduser(each)
        except ValueError:  # a NUL
            return None
    return None
