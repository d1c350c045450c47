"""Consent to content: what the user has approved, recognised by its digest, so that any change voids the approval.

A `ConsentFile` maps subjects (a package, an adapter, the manifest of an agent) to records. A record has the digest of the
approved content and what its caller wants to remember beside it. `compare` says what an approval is worth for the content
that is there now. Reading needs no file and makes none: where nothing can be kept, nothing is approved. Changes are made
one at a time on a machine.

How content is digested is the caller's: only it knows which files belong to a subject.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from operable.kernel.errors import Fail
from operable.state.atomic import advise, is_disk_problem, make_folder, write_whole
from operable.state.lock import EXCLUSIVE, held
from operable.state.paths import make_state, state_path

Record = dict[str, Any]
UNUSABLE = "APPROVALS_UNUSABLE"
"""The code of the error if the file cannot be used, so that nothing counts as approved."""


class ConsentFile:
    """The approvals in one file of a state folder, or at a path of the caller's.

    Every method raises Fail config/APPROVALS_UNUSABLE if the file cannot be used. Those that write also raise
    io/APPROVALS_NOT_WRITTEN, and the error of a state folder that does not exist.
    """

    def __init__(self, folder: str, name: str, *, path: str | None = None) -> None:
        self._folder, self._name, self._path = folder, name, path

    def read(self) -> dict[str, Record]:
        """Every record by its subject."""
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
            raise _unusable(path, error) from error
        if not isinstance(records, dict) or not all(isinstance(each, dict) for each in records.values()):
            raise _unusable(path, "it does not have the expected format")
        return records

    def approve(self, subject: str, digest: str, **details: object) -> None:
        """Remember the approval of content with this digest, and its details."""
        with self.change() as records:
            records[subject] = {"digest": digest, "at": time.time(), **details}

    def revoke(self, subject: str) -> bool:
        """Forget an approval. Returns whether it existed."""
        with self.change() as records:
            return records.pop(subject, None) is not None

    @contextmanager
    def change(self) -> Iterator[dict[str, Record]]:
        """The records, written back at the end."""
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
            raise _unusable(path, error) from error

    def place(self) -> str:
        """The path of the file; its folder is made."""
        return self._path if self._path is not None else os.path.join(make_state(self._folder), self._name)


def _unusable(path: str, why: Exception | str) -> Fail:
    reason = why.strerror if isinstance(why, OSError) and why.strerror else why
    message = f"{path} cannot be used: {reason}"
    if isinstance(why, OSError) and is_disk_problem(why):
        return Fail("io", "APPROVALS_NOT_WRITTEN", message, target=path, hint=advise(why))
    return Fail("config", "APPROVALS_UNUSABLE", message, target=path)


def compare(approved: str | None, current: str) -> Literal["approved", "never approved", "changed"]:
    """What an approval is worth for content with this digest."""
    if approved is None:
        return "never approved"
    return "approved" if approved == current else "changed"
