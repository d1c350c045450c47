"""The record formats of the product, and how tests write and look at a log in one of them."""

from operable.flow.audit.record import ExecutionFormat
from operable.gate.audit.record import AuditFormat
from operable.state.sealed_log import SealedLog
from operable.state.sealed_verdict import LogVerdict, check

FORMATS: dict[str, type[AuditFormat] | type[ExecutionFormat]] = {
    "agents": AuditFormat,
    "executions": ExecutionFormat,
}


def record(number):
    """A record that each of the formats can seal."""
    return {"execution_id": f"e{number}", "actor": {"id": "a"}, "action": "x", "subject": {"kind": "test"}}


def log(path, form="agents", **options) -> SealedLog:
    return SealedLog(str(path), FORMATS[form](), **options)


def judged(path, form="agents", **options) -> LogVerdict:
    return check(str(path), FORMATS[form](), **options)


def codes(path, form="agents", **options):
    return [problem.code for problem in judged(path, form, **options).problems]


def sequence(path, form="agents"):
    """The numbers in the newest file."""
    return [FORMATS[form]().read(line).head.seq for line in path.read_bytes().splitlines(keepends=True)]
