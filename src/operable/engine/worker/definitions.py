"""The jobs that are applied now, as definitions. They are read again when an apply has changed them, and only then.

A worker may have many thousands of them, and needs a few at a time. So documents are kept as the texts that the job store
has, in a fifth of the memory, and read when a job is asked for. What is needed of all of them, their schedules, is shared
by those that have the same.
"""

from collections.abc import Iterator, Mapping
from sys import intern

from operable.engine.schedule.cron import CronSchedule
from operable.engine.store.rows import Definition
from operable.flow.errors import FlowError
from operable.flow.scheduler.job_rows import JobReader, JobRow, own_schedule
from operable.flow.scheduler.job_store import open_jobs
from operable.kernel.catalogue import nearest
from operable.kernel.errors import Fail


class _Definitions(Mapping[str, Definition]):
    """By the job's id, in the order in which they were applied."""

    def __init__(self) -> None:
        self.rows: dict[str, JobRow] = {}

    def __getitem__(self, job_id: str) -> Definition:
        row = self.rows[job_id]
        return Definition(row.id, row.revision, row.document(), row.manifest_digest)

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


class _Reading:
    """What one reading of the job store found."""

    def __init__(self) -> None:
        self.jobs = _Definitions()
        self.children: dict[str, list[str]] = {}
        self.schedules: dict[str, CronSchedule] = {}

    def take(self, reader: JobReader) -> int:
        """The number of the apply that this is the state of."""
        shared: dict[CronSchedule, CronSchedule] = {}
        for page in reader.pages():
            for row in page:
                document = row.document()
                # Many jobs come from one manifest, and have its digest.
                digest = intern(row.manifest_digest)
                self.jobs.rows[row.id] = JobRow(row.id, row.revision, row.parent_id, digest, row.text)
                if row.parent_id is not None:
                    self.children.setdefault(row.parent_id, []).append(row.id)
                words = own_schedule(document)
                if words is not None:
                    schedule = CronSchedule(*words)
                    self.schedules[row.id] = shared.setdefault(schedule, schedule)
        return reader.latest_apply()


class AppliedJobs:
    """`address` is that of the job store: a path, or a URL."""

    def __init__(self, address: str) -> None:
        self._store = open_jobs(address)
        self._apply = -1
        self._reading = _Reading()
        self._manifests: dict[str, str] = {}

    @property
    def jobs(self) -> Mapping[str, Definition]:
        return self._reading.jobs

    @property
    def schedules(self) -> Mapping[str, CronSchedule]:
        """Of the jobs that are enabled and have one."""
        return self._reading.schedules

    @property
    def apply(self) -> int:
        """The number of the apply that this is the state of."""
        return self._apply

    def require_known(self) -> None:
        """Raises Fail if another version wrote the jobs. What else keeps them from being read may pass."""
        try:
            self._store.read(JobReader.latest_apply)
        except FlowError as error:
            if error.flow_code == "unsupported_capability":
                raise

    def refresh(self) -> bool:
        """Read again if something was applied; whether that is so."""
        number = self._store.read(JobReader.latest_apply) or 0
        if number == self._apply:
            return False
        reading = _Reading()
        # An apply may have come since: the number and the jobs are of one snapshot.
        self._apply = self._store.read(reading.take) or 0
        self._manifests.clear()
        self._reading = reading
        return True

    def schedule_changes(self, after: int) -> dict[str, int]:
        """Jobs whose schedule an apply changed, behind this one and up to the one that was read: job -> its latest apply."""
        return self._store.read(lambda reader: reader.schedule_changes(after, self._apply)) or {}

    def require(self, name: str) -> Definition:
        """The job of this id, or of this `workflow/task`. Raises Fail if no such job is applied."""
        if name in self.jobs:
            return self.jobs[name]
        for job in self.jobs.values():
            if name == job.label:
                return job
        message = f"no job {name} is applied"
        labels = sorted({job.label for job in self.jobs.values()})
        near = [label for label in labels if label.endswith(f"/{name}")] or nearest(name, labels)
        hint = f"did you mean {' or '.join(near[:3])}?" if near else "list them: operable engine jobs"
        raise Fail("not_found", "JOB_NOT_FOUND", message, target=name, hint=hint)

    def children(self, job_id: str) -> list[Definition]:
        return [self.jobs[child] for child in self._reading.children.get(job_id, ())]

    def manifest(self, digest: str) -> str:
        """The text of a manifest that a job has."""
        if digest not in self._manifests:
            text = self._store.read(lambda reader: reader.manifest(digest))
            assert text is not None  # noqa: S101 - the job was read from this store
            self._manifests[digest] = text
        return self._manifests[digest]

    def forget(self) -> None:
        """Read everything again at the next refresh."""
        self._apply = -1

    def close(self) -> None:
        self._store.close()
