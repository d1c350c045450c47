"""The report log of a pytest session, as the plugin beside this file writes it (`plugin/operable_report.py`)."""

from __future__ import annotations

import os

from operable.kernel.errors import Fail
from operable.kernel.redact import redact_text
from operable.tool.framework import Change
from operable.wrap.values import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream


def plan_collect(upstream: Upstream) -> Iterator[Change]:
    return _plan(upstream, "import tests")


def plan_run(upstream: Upstream) -> Iterator[Change]:
    return _plan(upstream, "run tests")


def _plan(upstream: Upstream, action: str) -> Iterator[Change]:
    upstream.words()  # inputs that cannot be put on a command line are refused before anything is planned
    for path in upstream.inputs["paths"] or ["."]:
        yield Change(action, redact_text(path))


def run(upstream: Upstream) -> Iterator[Any]:
    counts: dict[str, int] = {}
    for event in _events(upstream):
        if event.__class__ is dict and event["type"] == "item":
            # Only `--collect-only` makes those, and it is not we who said it.
            message = "the options make pytest collect the tests and run none"
            hint = "look for --collect-only in addopts and PYTEST_ADDOPTS"
            upstream.failure = Fail("config", "TESTS_NOT_RUN", message, hint=hint, target="pytest")
            continue
        if event.__class__ is dict and event["type"] == "test":
            counts[event["outcome"]] = counts.get(event["outcome"], 0) + 1
        yield event
    upstream.context.conclude(tests=counts)


def collect(upstream: Upstream) -> Iterator[Any]:
    return _events(upstream)


def _events(upstream: Upstream) -> Iterator[Any]:
    """What the reports say. Behind the session's end nothing is a report any more."""
    # In a folder of its own, so that nothing else of ours can be imported in place of a module of the project.
    folder, own = os.path.join(upstream.plan.folder, "plugin"), os.environ.get("PYTHONPATH")
    upstream.env["PYTHONPATH"] = os.pathsep.join([folder, own] if own else [folder])
    if own:
        upstream.env["OPERABLE_PYTHONPATH"] = own
    for block in upstream.blocks():
        for line in block.split(b"\n"):
            if not line:
                continue
            report = None if upstream.complete else _decoded(line)
            if report is None:
                yield upstream.foreign_line(line)
                continue
            kind = report["$report_type"]
            if kind == "SessionFinish":
                upstream.complete = True
            elif kind in _MAKERS:
                yield from _MAKERS[kind](report)
    if upstream.end is not None and upstream.end.status == 1 and not upstream.complete:
        upstream.cut_off()  # the interpreter ends with 1 for its own reasons too


def _decoded(line: bytes) -> dict[str, Any] | None:
    try:
        report = decode(line)
    except ValueError:
        return None
    return report if isinstance(report, dict) and isinstance(report.get("$report_type"), str) else None


def _test(report: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if report["when"] != "call" and report["outcome"] == "passed":
        return
    file, line, _ = report["location"]
    event = {
        "type": "test",
        "node_id": report["nodeid"],
        "when": report["when"],
        "outcome": report["outcome"],
    }
    event |= {"duration": float(report["duration"]), "file": file, "line": None if line is None else line + 1}
    event |= _why(report["longrepr"])
    event |= {"sections": report["sections"], "user_properties": report["user_properties"]}
    if isinstance(report.get("wasxfail"), str):
        event["wasxfail"] = report["wasxfail"]
        # pytest itself writes `skipped` and `passed` here, and counts them as what they are.
        event["outcome"] = {"skipped": "xfailed", "passed": "xpassed"}.get(event["outcome"], event["outcome"])
    yield _exact(event, report)


def _uncollected(report: dict[str, Any]) -> Iterator[dict[str, Any]]:
    event = {"type": "uncollected", "node_id": report["nodeid"], "outcome": report["outcome"]}
    event |= _why(report["longrepr"])
    yield _exact(event, report)


def _exact(event: dict[str, Any], report: dict[str, Any]) -> dict[str, Any]:
    """The event, with the bytes of a name that is not UTF-8."""
    if "nodeid_b64" in report:
        event["node_id_b64"] = report["nodeid_b64"]
    return event


def _why(longrepr: Any) -> dict[str, Any]:
    """The reason in one text, and everything that pytest says of it: a text, a list for what was skipped, or an object."""
    message = longrepr
    if isinstance(longrepr, dict):
        message = (longrepr.get("reprcrash") or {}).get("message")
    elif isinstance(longrepr, list) and longrepr:
        message = longrepr[-1]
    return {"message": message if isinstance(message, str) else None, "longrepr": longrepr}


def _item(report: dict[str, Any]) -> Iterator[dict[str, Any]]:
    line = report.pop("line")
    event = {"type": "item", "node_id": report.pop("nodeid"), **report}
    del event["$report_type"]
    event.pop("nodeid_b64", None)
    yield _exact(event | {"line": None if line is None else line + 1}, report)


def _warning(report: dict[str, Any]) -> Iterator[dict[str, Any]]:
    del report["$report_type"]
    yield {"type": "python_warning", **report}


_MAKERS = {"TestReport": _test, "CollectReport": _uncollected, "Item": _item, "WarningMessage": _warning}
