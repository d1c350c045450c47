"""The jobs that are applied now, as definitions. They are read again when an apply has changed them, and only then."""

from collections.abc import Mapping

from operable.engine.store.rows import Definition
from operable.flow.scheduler.job_rows import JobReader
from operable.flow.scheduler.job_store import open_jobs
from operable.kernel.errors import Fail


class AppliedJobs:
    """`address` is that of the job store: a path, or a URL."""

    def __init__(self, address: str) -> None:
        self._store = open_jobs(address)
        self._apply = -1
        self._jobs: dict[str, Definition] = {}
        self._children: dict[str, list[Definition]] = {}
        self._manifests: dict[str, str] = {}

    @property
    def jobs(self) -> Mapping[str, Definition]:
        return self._jobs

    def refresh(self) -> bool:
        """Read again if something was applied; whether that is so."""
        number = self._store.read(JobReader.latest_apply) or 0
        if number == self._apply:
            return False
        jobs: dict[str, Definition] = {}
        children: dict[str, list[Definition]] = {}
        for row in self._store.read(JobReader.jobs) or ():
            job = Definition(row["id"], row["revision"], row["document"], row["manifest_digest"])
            jobs[job.job_id] = job
            if row["parent_id"] is not None:
                children.setdefault(row["parent_id"], []).append(job)
        self._manifests.clear()
        self._jobs, self._children, self._apply = jobs, children, number
        return True

    def require(self, name: str) -> Definition:
        """The job of this id, or of this `workflow/task`. Raises Fail if no such job is applied."""
        if name in self._jobs:
            return self._jobs[name]
        for job in self._jobs.values():
            source = job.document["source"]
            if name == f"{source['workflow_id']}/{source['task_id']}":
                return job
        message = f"no job {name} is applied"
        hint = "operable engine jobs lists the jobs"
        raise Fail("not_found", "JOB_NOT_FOUND", message, target=name, hint=hint)

    def children(self, job_id: str) -> list[Definition]:
        return self._children.get(job_id, [])

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
