"""Consent to content: what the user has approved, recognised by its digest, so that any change voids the approval.

A `ConsentFile` maps subjects (a package, an adapter) to records. A record has the digest of the approved content and what
its caller wants to remember beside it. `compare` says what an approval is worth for the content that is there now. Reading
needs no file and makes none: where nothing can be kept, nothing is approved. Changes are made one at a time on a machine.

How content is digested is the caller's: only it knows which files belong to a subject.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from operable.state.atomic import make_folder, write_whole
from operable.state.lock import EXCLUSIVE, held
from operable.state.paths import make_state, state_path

Record = dict[str, Any]


class ConsentFileError(Exception):
    """The file of approvals cannot be used, so nothing counts as approved."""

    def __init__(self, path: str, reason: object) -> None:
        super().__init__(f"{path} cannot be used: {reason}")
        self.path = path


class ConsentFile:
    """The approvals in one file of a state folder, or at a path of the caller's."""

    def __init__(self, folder: str, name: str, *, path: str | None = None) -> None:
        self._folder, self._name, self._path = folder, name, path

    def read(self) -> dict[str, Record]:
        """Every record by its subject. Raises ConsentFileError."""
        path = self._path
        if path is None:
            folder = state_path(self._folder)
            path = "" if folder is None else os.path.join(folder, self._name)
        if not os.path.lexists(path):
            return {}
        try:
            with open(path, encoding="utf-8") as file:
                records = json.load(file)
        except (OSError, ValueError, RecursionError) as error:
            raise ConsentFileError(path, _reason(error)) from error
        if not isinstance(records, dict) or not all(isinstance(each, dict) for each in records.values()):
            raise ConsentFileError(path, "it does not have the expected format")
        return records

    @contextmanager
    def change(self) -> Iterator[dict[str, Record]]:
        """The records, written back at the end. Raises ConsentFileError, and Fail if there is no state folder."""
        path = self.place()
        try:
            make_folder(os.path.dirname(path))
            with held(f"{path}.lock", EXCLUSIVE):
                records = self.read()
                yield records
                data = json.dumps(records, indent=1, sort_keys=True).encode()
                # Under the lock, so that one name for the draft serves all: a killed process leaves at most one behind.
                write_whole(path, data, draft=f"{path}.new")
        except OSError as error:  # also a lock that another process does not release
            raise ConsentFileError(path, _reason(error)) from error

    def place(self) -> str:
        """The path of the file; its folder is made."""
        return self._path if self._path is not None else os.path.join(make_state(self._folder), self._name)


def _reason(error: Exception) -> object:
    return error.strerror if isinstance(error, OSError) and error.strerror else error


def compare(approved: str | None, current: str) -> Literal["approved", "never approved", "changed"]:
    """What an approval is worth for content with this digest."""
    if approved is None:
        return "never approved"
    return "approved" if approved == current else "changed"
