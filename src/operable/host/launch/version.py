"""Ask an installed program for its version, and judge the answer.

`cmd` is the complete command (point 3 of the decision on contradictions): where it begins with the manifest's `bin`, the
installed file is meant, whatever else is on the search path; where it is only options, they are given to that file. The
expression of the manifest is foreign code for a regex engine and is run in a process of its own with a time limit. The
program is asked without the right to change anything or to reach the network, with an empty home if it needs one. The
answer is remembered for as long as the file does not change, a day at most: agents update what is behind the file.
"""

import json
import os
import re
import sys
import tempfile
from dataclasses import replace
from functools import partial

import operable
from operable.host.launch.ledger import InstallRecord, Ledger
from operable.host.launch.process import CommandSurroundings, run
from operable.kernel.canonical import digest
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.manifest.blocks import VersionCheck
from operable.manifest.versions import satisfies
from operable.proc.sandbox.restriction import keeps_effects, without_effects
from operable.proc.spawn import prepare

# An expression that needs longer than this for a few kilobytes would need forever.
MATCH_TIMEOUT = 10.0
_SEARCHED = 16 * 1024
_REMEMBERED = 24 * 3600.0
_MATCH = """\
import json, sys
sys.path.insert(0, sys.argv[1])
from operable.manifest.versions import find_version
print(json.dumps(find_version(**json.load(sys.stdin))))
"""
# Where this very package is: a process that is isolated from the environment may not find it.
_HOME = os.path.dirname(os.path.dirname(os.path.abspath(operable.__file__)))
_PRERELEASE = re.compile(r"(\d+\.\d+\.\d+)-")


@dataclass(frozen=True, slots=True)
class Version:
    """What a program says that it is, and whether the manifest wants it. `why` is for people."""

    version: str | None
    fits: bool
    why: str = ""


def check(block: VersionCheck, surroundings: CommandSurroundings) -> Version:
    """Run the check. A program that fails or says nothing fits no range; Fail only for a time limit or a stop."""
    try:
        found, status = _asked(block, surroundings)
    except Fail as fail:
        if fail.code == "DEADLINE_EXCEEDED":
            raise _too_slow(block) from fail
        if fail.category == "cancelled":
            raise
        return Version(None, fits=False, why=fail.message)
    if found is None:
        asked = "" if surroundings.confine or keeps_effects() else "; it may write nothing and has no network"
        return Version(None, fits=False, why=f"{block.cmd!r} (status {status}) printed no version{asked}")
    if not in_range(found, block.range):
        return Version(found, fits=False, why=f"it is {found}; the manifest wants {block.range}")
    return Version(found, fits=True)


def _asked(block: VersionCheck, surroundings: CommandSurroundings) -> tuple[str | None, int | None]:
    """The version and the exit status. A program that fails without a home that it may write to gets an empty one."""
    text = block.cmd.strip()
    if text.startswith("-"):
        text = f"{surroundings.bin} {text}"

    def ask(scratch: str | None) -> tuple[str | None, int | None]:
        confine = surroundings.confine or partial(without_effects, scratch=scratch)
        done = replace(surroundings, confine=confine).run(text, timeout=block.timeout_ms / 1000)
        return find(block.parse, done.text, done.stderr), done.status

    first = ask(None)
    if (first[0] is not None and first[1] == 0) or surroundings.confine is not None:
        return first
    # What a program prints while it fails may be the version of what it is built with.
    with tempfile.TemporaryDirectory(prefix="operable-version-") as scratch:
        second = ask(scratch)
    return second if second[0] is not None else first


def find(expression: str, stdout: str, stderr: str, *, timeout: float = MATCH_TIMEOUT) -> str | None:
    """What the first group matches, in stdout, else in stderr."""
    question = {"pattern": expression, "stdout": stdout[:_SEARCHED], "stderr": stderr[:_SEARCHED]}
    command = prepare([sys.executable, "-I", "-c", _MATCH, _HOME])
    try:
        done = run(command, timeout=timeout, stdin=json.dumps(question).encode())
    except Fail as fail:
        raise _expression(expression, "it takes too long to match") from fail
    if done.status != 0:
        raise _expression(expression, (done.stderr.strip().splitlines() or ["it cannot be read"])[-1])
    answer = json.loads(done.stdout)
    return None if answer is None else str(answer)


def in_range(version: str, wanted: str) -> bool:
    """The rule of npm for pre-releases: `1.2.3-rc.1` fits only where the range itself names a pre-release of 1.2.3."""
    release, dash, _ = version.strip().removeprefix("v").partition("-")
    for alternative in wanted.split("||"):
        if not satisfies(version, alternative):
            continue
        if not dash or release in _PRERELEASE.findall(alternative):
            return True
    return False


def stamp(binary: str, block: VersionCheck) -> str:
    """What must not have changed for a remembered version to hold."""
    real = os.path.realpath(binary)
    facts = os.stat(real)
    return digest([real, facts.st_ino, facts.st_size, facts.st_mtime_ns, block.cmd, block.parse, block.range])


def remembered(record: InstallRecord | None, ledger: Ledger, now_stamp: str) -> str | None:
    """The version that an earlier check found in range; None: it must be asked again."""
    if record is None or record.stamp != now_stamp or record.checked_at is None:
        return None
    age = ledger.clock() - record.checked_at
    return record.version if 0 <= age < _REMEMBERED else None


def mismatch(name: str, binary: str, found: Version) -> Fail:
    """The bundle is not available with this program."""
    return Fail(
        "config",
        "VERSION_MISMATCH",
        f"{name} cannot be used: {found.why}",
        target=binary,
        hint="install a version in the range that the manifest names",
        aip_code="version_mismatch",
        version=found.version,
    )


def _expression(expression: str, why: str) -> Fail:
    return Fail(
        "config",
        "VERSION_EXPRESSION",
        f"the expression of version_check cannot be used: {why}",
        target=expression[:200],
        aip_code="version_mismatch",
    )


def _too_slow(block: VersionCheck) -> Fail:
    return Fail(
        "timeout",
        "VERSION_CHECK_TIMEOUT",
        f"{block.cmd!r} did not end within {block.timeout_ms} ms",
        hint="raise version_check.timeout_ms in the manifest",
        aip_code="version_mismatch",
    )
