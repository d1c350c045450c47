"""The rows of the job store, read and written through a connection that has its tables."""

import json
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from operable.flow.canonical import canonical_text
from operable.flow.errors import FlowError
from operable.flow.manifest.inheritance import Json
from operable.state.database import StoreConnection

_PAGE = 500
# In the recorded action of a job whose schedule began, ended or changed. What it did before is not its own any more.
_SCHEDULE_CHANGED = "schedule_changed"


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job as it is stored: its document is a text, which is several times smaller than what it says."""

    id: str
    revision: int
    parent_id: str | None
    manifest_digest: str
    text: str

    def document(self) -> Json:
        """FlowError when it is not what an apply wrote."""
        return _document(self.id, self.text)


class JobReader:
    """What can be read."""

    def __init__(self, connection: StoreConnection) -> None:
        self.connection = connection

    def jobs(self) -> list[Json]:
        """Every job, in the order in which they were written."""
        names = "id workflow_id task_id name enabled parent_id document manifest_digest revision created_at".split()
        rows = self.connection.execute(f"SELECT {', '.join(names)} FROM jobs ORDER BY rowid")  # noqa: S608 - our names
        found = []
        for row in rows:
            job: Json = dict(zip(names, row, strict=True))
            job["document"] = _document(job["id"], job["document"])
            job["name"] = job["document"]["name"]
            found.append(job)
        return found

    def pages(self) -> Iterator[list[JobRow]]:
        """Every job in the same order, some hundreds at a time: all documents at once take much memory."""
        last = -1
        while rows := self.connection.execute(
            "SELECT rowid, id, revision, parent_id, manifest_digest, document FROM jobs "
            "WHERE rowid > ? ORDER BY rowid LIMIT ?",
            (last, _PAGE),
        ):
            last = rows[-1][0]
            yield [JobRow(*row[1:]) for row in rows]

    def manifest(self, digest: str) -> str:
        """The text of a manifest that a job refers to. FlowError when it is not there any more."""
        rows = self.connection.execute("SELECT text FROM manifests WHERE digest = ?", (digest,))
        if not rows:
            raise FlowError("scheduler_error", f"The job store has no manifest {digest}")
        return str(rows[0][0])

    def schedule_changes(self, after: int, until: int) -> dict[str, int]:
        """Which jobs got, lost or changed their schedule in the applies behind the first number: job -> its latest apply."""
        rows = self.connection.execute(
            "SELECT id, actions FROM applies WHERE id > ? AND id <= ? ORDER BY id", (after, until)
        )
        return {
            str(action["job_id"]): int(number)
            for number, actions in rows
            for action in json.loads(actions)
            if action.get(_SCHEDULE_CHANGED)
        }

    def latest_apply(self) -> int:
        """The number of the last apply that changed something; 0 if nothing was applied. It is cheap to ask."""
        ((number,),) = self.connection.execute("SELECT COALESCE(MAX(id), 0) FROM applies")
        return int(number)


class Transaction(JobReader):
    """What can be read and written while no other process writes."""

    def __init__(self, connection: StoreConnection) -> None:
        super().__init__(connection)
        self._now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

    def keep_manifest(self, digest: str, manifest: Json) -> None:
        self.connection.execute(
            "INSERT INTO manifests VALUES (?, ?, ?) ON CONFLICT (digest) DO NOTHING",
            (digest, canonical_text(manifest), self._now),
        )

    def write(self, job: Json, digest: str, stored: Json | None) -> None:
        """A job under its own id; `stored` is the one that it continues, under the same id or another."""
        revision, created = 1, self._now
        if stored is not None:
            revision, created = stored["revision"] + 1, stored["created_at"]
            self.remove(stored["id"])
        row = {
            "id": job["id"],
            **job["source"],
            # For those who query; the document has it exactly, also with characters that a database does not take.
            "name": job["name"].encode("utf-8", "replace").decode().replace("\0", "\ufffd"),
            "enabled": int(job["enabled"]),
            "invocation_mode": job["invocation"]["mode"],
            "parent_id": job["parent_id"],
            "document": canonical_text(job),
            "manifest_digest": digest,
            "revision": revision,
            "created_at": created,
            "updated_at": self._now,
        }
        places = ", ".join("?" for _ in row)
        self.connection.execute(
            f"INSERT INTO jobs ({', '.join(row)}) VALUES ({places})",  # noqa: S608 - our names
            list(row.values()),
        )

    def remove(self, job_id: str) -> None:
        self.connection.execute("DELETE FROM jobs WHERE id = ?", (job_id,))

    def record(self, digest: str, actions: list[Json], scheduled: Collection[str]) -> None:
        """Note what was done, and to the schedules of which jobs; forget manifests that no job needs any more."""
        actions = [
            {**action, _SCHEDULE_CHANGED: True} if action["job_id"] in scheduled else action
            for action in actions
        ]
        self.connection.execute(
            "INSERT INTO applies (applied_at, manifest_digest, actions) VALUES (?, ?, ?)",
            (self._now, digest, canonical_text(actions)),
        )
        self.connection.execute(
            "DELETE FROM manifests WHERE digest NOT IN (SELECT manifest_digest FROM jobs)"
        )


def own_schedule(document: Json) -> tuple[str, str] | None:
    """The expression and the zone after which a job runs. Returns None if it is disabled, or triggered by another."""
    invocation = document["invocation"]
    if not document["enabled"] or invocation["mode"] == "trigger":
        return None
    return invocation["cron"], invocation["tz"]


def _document(job_id: str, text: str) -> Json:
    """FlowError when it is not what an apply wrote: comparing with it would say anything."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("name"), str) or found.get("id") != job_id:
        message = f"The job {job_id} in the job store is damaged: its document is not one of a job"
        raise FlowError("scheduler_error", message)
    return found
