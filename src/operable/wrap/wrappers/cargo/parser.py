"""Packages of a workspace, and their tests. Everything else of cargo is read by the rules of the manifests alone."""

from __future__ import annotations

import os

from operable.kernel.errors import Fail
from operable.tool.framework import Change
from operable.wrap.endings import failed
from operable.wrap.fields import put
from operable.wrap.values import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

# What is kept of the output of one test program: its beginning, and its end, where the failures are.
_KEPT = 32 * 1024
# The description of a large workspace with all that it needs.
_LARGEST = 128 * 1024 * 1024
# How cargo is made to test one target, by the kind of the target; what has a kind of its own is some sort of library.
_CHOICES = {"bin": "--bin", "test": "--test", "example": "--example", "bench": "--bench"}
_BUILD_SCRIPT = "custom-build"


# -- packages


def metadata(upstream: Upstream) -> Iterator[Any]:
    if not upstream.inputs["deps"]:
        upstream.do_without("programs")
    words = [*upstream.words(), "--locked" if upstream.inputs["deps"] else "--no-deps"]
    found = _workspace(upstream, words)
    members = set(found["workspace_members"])
    for package in found["packages"]:
        yield {"type": "package", **package, "workspace_member": package["id"] in members}


def plan_check(upstream: Upstream) -> Iterator[Change]:
    return _planned(upstream, "check")


def plan_build(upstream: Upstream) -> Iterator[Change]:
    return _planned(upstream, "build")


def plan_test(upstream: Upstream) -> Iterator[Change]:
    return _planned(upstream, "test")


def _planned(upstream: Upstream, action: str) -> Iterator[Change]:
    upstream.words()  # inputs that cannot be put on a command line are refused before anything is planned
    found, chosen = _chosen(upstream)
    names = upstream.inputs["package"] or [package["name"] for package in chosen]
    for name in names:
        yield Change(action, name, folder=found["target_directory"])


def _chosen(upstream: Upstream) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The workspace, and the packages of it that this call is about; asking for them needs no network."""
    inputs = upstream.inputs
    words = ["metadata", "--format-version=1", "--no-deps"]
    if inputs["manifest"] is not None:
        words.append(f"--manifest-path={inputs['manifest']}")
    found = _workspace(upstream, words)
    members = found["workspace_members"]
    chosen = members if inputs["workspace"] else found.get("workspace_default_members", members)
    if inputs["package"]:
        names = set(inputs["package"])
        chosen = [each["id"] for each in found["packages"] if names & _names(each)]
    return found, [package for package in found["packages"] if package["id"] in chosen]


def _names(package: dict[str, Any]) -> set[str]:
    return {package["name"], package["id"], f"{package['name']}@{package['version']}"}


def _workspace(upstream: Upstream, words: list[str]) -> dict[str, Any]:
    try:
        found = decode(_ask_apart(upstream, words))
    except ValueError:
        found = None
    except Fail as fail:
        if fail.code == "BUILD_FAILED":  # nothing was built yet
            fail.code, fail.hint = "WORKSPACE_UNREADABLE", "fix Cargo.toml or Cargo.lock"
        raise
    if not isinstance(found, dict) or "packages" not in found:
        raise Fail(
            "validation", "UPSTREAM_NON_JSON", "cargo printed something that is not JSON", target="cargo"
        )
    return found


def _ask_apart(upstream: Upstream, words: list[str]) -> bytes:
    """Ask from the root folder: cargo and rustup read the settings of the folder that they are started in.

    There a project says which cargo, which rustc and which wrapper is run (`.cargo/config.toml`, `rust-toolchain.toml`).
    """
    manifest = upstream.inputs.get("manifest") or _nearest(os.getcwd())
    kept = [word for word in words if word != "--offline" and not word.startswith("--manifest-path=")]
    kept.insert(1, "--offline")
    if manifest is not None:
        kept.insert(1, f"--manifest-path={os.path.abspath(manifest)}")
    upstream.cwd = os.sep
    try:
        return upstream.ask(kept, limit=_LARGEST)
    finally:
        upstream.cwd = None


def _nearest(folder: str) -> str | None:
    """The manifest of this folder, or of the first above it that has one."""
    while not os.path.isfile(os.path.join(folder, "Cargo.toml")):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return os.path.join(folder, "Cargo.toml")


# -- tests


def test(upstream: Upstream) -> Iterator[Any]:
    from operable.wrap.parsers.jsonl import PARSER

    # Of what others have written, the documentation is compiled too, and not tested.
    own = {package["id"] for package in _chosen(upstream)[1]}
    targets: list[tuple[str, str, str, list[str]]] = []
    for rows in PARSER(upstream, upstream.command.parse):
        for row in rows if isinstance(rows, list) else [rows]:
            if row.__class__ is dict and row["type"] == "artifact" and row["package_id"] in own:
                targets += _testable(row)
            yield row
    if upstream.end is None or upstream.end.status != 0 or not upstream.complete:
        return  # it was not compiled: how the program ended says why
    bad = 0
    for package, target, kind, choice in targets:
        event = _tested(upstream, choice)
        event = {"type": "test_target", "package_id": package, "target": target, "kind": kind, **event}
        bad += not event["passed"]
        yield event
    if bad:
        told = {"program": "cargo", "exit": 101, "meaning": "tests_failed"}
        upstream.context.conclude(upstream=told)
        message = f"the tests of {bad} of {len(targets)} targets failed"
        raise Fail("partial", "TESTS_FAILED", message, target="cargo", upstream_exit=101)


def _testable(artifact: dict[str, Any]) -> Iterator[tuple[str, str, str, list[str]]]:
    """What of an artifact can be tested: its test program, and the examples in the documentation of a library."""
    package, target, kinds = artifact["package_id"], artifact["target"], artifact["kind"]
    if _BUILD_SCRIPT in kinds:
        return
    here = ["--package", _spec(package)]
    if artifact["test"] and artifact["executable"]:
        option = _CHOICES.get(kinds[0])
        yield package, target, kinds[0], [*here, option, target] if option else [*here, "--lib"]
    elif artifact.get("doctest") and kinds[0] not in _CHOICES:
        yield package, target, "doc", [*here, "--doc"]


def _spec(package_id: str) -> str:
    """The id of a package as `--package` takes it; until cargo 1.76 ids were "name version (source)"."""
    name, _, rest = package_id.partition(" ")
    return f"{name}@{rest.partition(' ')[0]}" if rest else package_id


def _tested(upstream: Upstream, choice: list[str]) -> dict[str, Any]:
    """Run the tests of one target. Its exit status is all that counts; what it prints is for people."""
    inputs = upstream.inputs
    words = [
        word
        for word in upstream.words()
        if word not in ("--no-run", "--message-format=json", "--workspace", "--all-targets")
        and not word.startswith("--package=")
    ]
    words += ["--quiet", *choice, "--", "--color=never", *([inputs["filter"]] if inputs["filter"] else [])]
    first, last, size = bytearray(), bytearray(), 0
    for chunk in upstream.chunks(words):
        size += len(chunk)
        room = _KEPT - len(first)
        first += chunk[:room]
        last = (last + chunk[room:])[-_KEPT:] if room < len(chunk) else last
    end = upstream.end
    if end is None or end.cause == "deadline":
        raise upstream.timed_out()
    if end.status not in (0, 101):
        raise failed(upstream, end.status, end.stderr.text())
    event: dict[str, Any] = {"passed": end.status == 0, "output_truncated": size > len(first) + len(last)}
    put(event, "output", bytes(first + last))
    return event
