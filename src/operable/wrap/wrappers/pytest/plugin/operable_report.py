"""A plugin that runs inside the tested project's pytest: it writes the report log of the session to a descriptor of its own.

Theory of operation. Standard output is taken for the reports as soon as this module is imported, which is before anything
of the project is: its descriptor is moved to another number that no child inherits, and number 1 becomes a second stderr.
So what tests, plugins and their children print can never be between two reports. The objects are those that pytest
makes itself for pytest-xdist and pytest-reportlog (`pytest_report_to_serializable`), one a line.

This file is loaded by the interpreter of the project, not by ours: it imports only the standard library and pytest.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Generator
from typing import Any, BinaryIO

import pytest

# A worker of pytest-xdist speaks with its parent over these descriptors, and the parent reports for it.
_WORKER = "PYTEST_XDIST_WORKER" in os.environ


def _taken() -> BinaryIO:
    """The stream of reports. os.dup makes a descriptor that children do not inherit."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return out


_OUT = None if _WORKER else _taken()
# The tests' own children need not find this module.
if "OPERABLE_PYTHONPATH" in os.environ:
    os.environ["PYTHONPATH"] = os.environ.pop("OPERABLE_PYTHONPATH")
else:
    os.environ.pop("PYTHONPATH", None)


def _write(kind: str, **fields: Any) -> None:
    if _OUT is None:
        return
    text = json.dumps({"$report_type": kind, **_told(fields)}, ensure_ascii=False, default=str)
    _OUT.write(text.encode("utf-8", "replace") + b"\n")
    _OUT.flush()


def _told(value: Any) -> Any:
    """The same value as text that can be written. Bytes that are not UTF-8 (surrogates in Python) are in `<name>_b64`."""
    if isinstance(value, str):
        return _raw(value).decode("utf-8", "replace")
    if isinstance(value, (list, tuple)):
        return [_told(one) for one in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for name, inner in value.items():
        key = _told(str(name))
        found[key] = _told(inner)
        if isinstance(inner, str) and found[key] != inner:
            found[key + "_b64"] = base64.b64encode(_raw(inner)).decode("ascii")
    return found


def _raw(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # other surrogates stand for no byte
        return text.encode("utf-8", "surrogatepass")


def _report(config: Any, report: Any) -> None:
    data = config.hook.pytest_report_to_serializable(config=config, report=report)
    data.pop("keywords", None)  # the names of everything around a test, once more for each
    _write(data.pop("$report_type"), **data)


class Reports:
    """The hooks, registered only where this process reports."""

    def __init__(self, config: Any) -> None:
        self.config = config

    def pytest_sessionstart(self) -> None:
        _write("SessionStart", pytest_version=pytest.__version__)

    def pytest_runtest_logreport(self, report: Any) -> None:
        _report(self.config, report)

    def pytest_collectreport(self, report: Any) -> None:
        if report.outcome != "passed":
            _report(self.config, report)

    def pytest_collection_finish(self, session: Any) -> None:
        if not self.config.option.collectonly:
            return
        for item in session.items:
            file, line, _ = item.location
            markers = sorted({mark.name for mark in item.iter_markers()})
            _write("Item", nodeid=item.nodeid, file=file, line=line, name=item.name, markers=markers)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_report_teststatus(self) -> Generator[None, Any, None]:
        """No user watches the dots: then the first line for people says how it went."""
        told = yield
        status = told.get_result()
        if status:
            told.force_result((status[0], "", ""))

    def pytest_warning_recorded(self, warning_message: Any) -> None:
        _write(
            "WarningMessage",
            category=getattr(warning_message.category, "__name__", None) or str(warning_message.category),
            filename=warning_message.filename,
            line=warning_message.lineno,
            message=str(warning_message.message),
        )

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        _write("SessionFinish", exitstatus=int(exitstatus))


def pytest_configure(config: Any) -> None:
    if _OUT is not None:
        config.pluginmanager.register(Reports(config), "operable-reports")
