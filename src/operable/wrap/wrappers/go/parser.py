"""What go prints with `-json`: events of builds and tests, findings of vet, packages.

The names of go's fields become those of every event: `ImportPath` is `import_path`.
"""

from __future__ import annotations

import os
import re

from operable.kernel.errors import Fail
from operable.tool.framework import Change
from operable.wrap.values import Values, decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

# What is kept of the output of one test, or of a package outside of its tests.
_KEPT = 256 * 1024
_LARGEST = 16 * 1024 * 1024
_ENDS = ("pass", "fail", "skip")
# Steps between the begin and the end of a test; `bench` repeats what its output says.
_STEPS = ("run", "pause", "cont", "bench", "attr")


# -- packages


def _only_look(upstream: Upstream) -> None:
    """Keep go from repairing go.mod and go.sum in a reading command, as `-mod=mod` in GOFLAGS makes it do."""
    flags = upstream.ask(["env", "GOFLAGS"], fine=range(-64, 256)).decode("utf-8", "replace").strip()
    kept = re.sub(r"(?<!\S)--?mod=mod(?!\S)", "-mod=readonly", flags)
    # Go asks git about the project, and git obeys what is in the project.
    upstream.env["GOFLAGS"] = f"{kept} -buildvcs=false".strip()


def listed(upstream: Upstream) -> Iterator[Any]:
    _only_look(upstream)
    for package in _values(upstream):
        if isinstance(package, dict):
            yield {"type": "package", **{_snake(name): value for name, value in package.items()}}
        else:
            yield package  # a warning


def plan_test(upstream: Upstream) -> Iterator[Change]:
    for package in _packages(upstream):
        yield Change("test", package["ImportPath"])


def plan_build(upstream: Upstream) -> Iterator[Change]:
    for package in _packages(upstream):
        details = {"to": upstream.inputs["to"]} if package.get("Name") == "main" else {}
        yield Change("build", package["ImportPath"], **details)


def _packages(upstream: Upstream) -> list[dict[str, Any]]:
    """The packages that the patterns of this call stand for."""
    upstream.words()  # inputs that cannot be put on a command line are refused before anything is planned
    _only_look(upstream)
    inputs = upstream.inputs
    tags = [f"-tags={inputs['tags']}"] if inputs["tags"] is not None else []
    told = upstream.ask(["list", "-e", "-json=ImportPath,Name", *tags, *inputs["packages"]])
    values = Values(_LARGEST)
    found = [decode(raw) for raw in values.feed(told)]
    if not found:
        message = f"no package matches {' '.join(inputs['packages'])[:200]}"
        raise Fail("not_found", "NO_PACKAGES", message, target="go")
    return found


def _snake(name: str) -> str:
    """`XTestGoFiles` -> `x_test_go_files`."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


# -- builds


def build(upstream: Upstream) -> Iterator[Any]:
    packages = _packages(upstream)
    for event in _lines(upstream):
        yield _of_build(event) if isinstance(event, dict) else event
    if upstream.end is None or upstream.end.status != 0:
        return
    for package in packages:
        built: dict[str, Any] = {"type": "built", "import_path": package["ImportPath"]}
        built |= {"name": package.get("Name", ""), "path": None}
        if package.get("Name") == "main" and upstream.inputs["to"] is not None:
            _put_program(built, upstream.inputs["to"])
        yield built


def _put_program(built: dict[str, Any], to: str) -> None:
    import os

    from operable.wrap.fields import put_path

    # In a folder, a program is named by the last word of its import path, before the major version of its module.
    words = [word for word in built["import_path"].split("/") if not (word[:1] == "v" and word[1:].isdigit())]
    put_path(built, "path", os.path.join(to, words[-1]) if os.path.isdir(to) else to)


def _of_build(event: dict[str, Any]) -> Any:
    action, path = event.get("Action"), event.get("ImportPath")
    if action == "build-output":
        return {"type": "build_output", "import_path": path, "output": event.get("Output", "")}
    if action == "build-fail":
        return {"type": "build_failed", "import_path": path}
    return _unknown(action)


def _unknown(action: Any) -> Any:
    from operable.tool.framework import Warn

    return Warn("UPSTREAM_UNKNOWN_TYPE", f"go reported the action {str(action)[:80]!r}, which is not known")


# -- tests


class _Printed:
    """The end of what a test prints, and whether there was more."""

    __slots__ = ("cut", "parts", "size")

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.size = 0
        self.cut = False

    def add(self, text: str) -> None:
        self.parts.append(text)
        self.size += len(text)
        if self.size > 2 * _KEPT:
            kept = "".join(self.parts)[-_KEPT:]
            self.parts, self.size, self.cut = [kept], len(kept), True


def test(upstream: Upstream) -> Iterator[Any]:
    """Output is gathered until the test or package ends that it belongs to."""
    printed: dict[tuple[str, str], _Printed] = {}
    begun: set[str] = set()
    for event in _lines(upstream):
        if not isinstance(event, dict):
            yield event
            continue
        action, package, name = event.get("Action"), event.get("Package"), event.get("Test", "")
        if package is None:
            yield _of_build(event)
        elif action == "start":
            begun.add(package)
        elif action == "output":
            printed.setdefault((package, name), _Printed()).add(event.get("Output", ""))
        elif action in _ENDS:
            begun -= set() if name else {package}
            yield _ended(event, printed.pop((package, name), _Printed()))
        elif action not in _STEPS:
            yield _unknown(action)
    if begun:
        upstream.cut_off()


def _ended(event: dict[str, Any], printed: _Printed) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "package_tests", "package_path": event["Package"]}
    if event.get("Test"):
        found |= {"type": "test", "test": event["Test"]}
    else:
        found["failed_build"] = event.get("FailedBuild")
    found["outcome"] = event["Action"]
    if "Elapsed" in event:
        found["elapsed_s"] = float(event["Elapsed"])
    return found | {"output": "".join(printed.parts), "output_truncated": printed.cut}


def _lines(upstream: Upstream) -> Iterator[Any]:
    """Objects, one a line; a warning for a line that is none."""
    for block in upstream.blocks():
        for line in block.split(b"\n"):
            if not line:
                continue
            try:
                event = decode(line)
            except ValueError:
                event = None
            yield event if isinstance(event, dict) and "Action" in event else upstream.foreign_line(line)


# -- vet


def vet(upstream: Upstream) -> Iterator[Any]:
    """In the order of packages and places: several are examined at a time, and come as they are done."""
    _only_look(upstream)
    cache = os.fsdecode(upstream.ask(["env", "GOCACHE"]).strip())
    if not os.path.isdir(cache):
        upstream.env["GOCACHE"] = "${scratch}/go-build"
    found: list[dict[str, Any]] = []
    for value in _values(upstream):
        if not isinstance(value, dict):
            yield value  # a warning
            continue
        for package, analyzers in value.items():
            for analyzer, told in analyzers.items():
                ones = told if isinstance(told, list) else [told]
                found += [_finding(package, analyzer, one) for one in ones]
    yield sorted(found, key=_place)
    end = upstream.end
    if end is not None and end.status == 0 and '": {' in end.stderr.text():
        raise Fail(
            "config",
            "GO_TOO_OLD",
            "this go writes the findings of vet to stderr, where they cannot be distinguished from other output",
            target="go",
            hint="use go 1.26 or later",
        )


def _place(finding: dict[str, Any]) -> tuple[Any, ...]:
    file, *numbers = finding["position"].rsplit(":", 2)
    return (
        finding["package_path"],
        file,
        [int(number) for number in numbers if number.isdigit()],
        finding["message"],
    )


def _finding(package: str, analyzer: str, one: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "finding", "package_path": package, "analyzer": analyzer}
    found |= {"position": one.get("posn", ""), "end": one.get("end")}
    # An analyzer that failed has an error in place of findings.
    found |= {"message": one.get("message") or one.get("error") or ""}
    return found | {"suggested_fixes": one.get("suggested_fixes") or []}


def _values(upstream: Upstream) -> Iterator[Any]:
    """Pretty-printed objects, one after another; a warning for what is none."""
    values = Values(_LARGEST)
    try:
        for chunk in upstream.chunks():
            for raw in values.feed(chunk):
                yield _object(upstream, raw)
    except OverflowError:
        raise upstream.too_long(_LARGEST) from None
    rest, whole = values.eof()
    if not whole:
        upstream.cut_off()
        return
    for raw in rest:
        yield _object(upstream, raw)


def _object(upstream: Upstream, raw: bytes) -> Any:
    try:
        found = decode(raw)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else upstream.foreign_line(raw)
