"""Which commands of operable a run of the tests lints: some forty runs of a process are needed to lint one.

`own.json` has, for each command, the digest of what says how it behaves (its verb, and what the profile says of it) and the
checks that it passed when it was linted last. A run lints every command that is new or has changed since then, and of every
group so many others that each check that any command of the group passes is passed again by one of them. The runtime that
the commands of a group share is thus tried with every check in every run. `--live` lints all commands.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from operable.lint import profile as profiles
from operable.lint.engine import Report
from tools.wrapper_lint import behaviour

ROOT = Path(__file__).parents[2]
PROFILE = ROOT / "examples" / "operable" / "aoi-lint.toml"
VERBS = ROOT / "src" / "operable" / "cli" / "commands"
KEPT = Path(__file__).with_name("own.json")


@dataclass(frozen=True)
class Verdict:
    """What was found of one command."""

    digest: str
    seconds: int
    passed: tuple[str, ...]


def kept() -> dict[str, Verdict]:
    return msgspec.json.decode(KEPT.read_bytes(), type=dict[str, Verdict])


def keep(report: Report) -> None:
    """Keep what was found of the commands that this run has linted, and forget those that there are no more."""
    now = digests()
    before = {name: verdict for name, verdict in kept().items() if name in now or not verdict.digest}
    found = before | {
        name: _verdict(report, name, now.get(name, ""), before.get(name)) for name in report.commands
    }
    text = json.dumps({name: asdict(verdict) for name, verdict in found.items()}, indent=1, sort_keys=True)
    KEPT.write_text(text + "\n", "utf-8")


def _verdict(report: Report, name: str, digest: str, before: Verdict | None) -> Verdict:
    """Of the seconds, the fewest that were ever seen: a busy machine makes every command slower, and chooses none."""
    spent = sum(seconds for (command, _), seconds in report.durations.items() if command == name)
    spent = spent if before is None else min(spent, before.seconds)
    passed = {found.label for found in report.findings if found.command == name and found.result == "pass"}
    return Verdict(digest, round(spent), tuple(sorted(passed)))


def digests(verbs: Path = VERBS, profile: Path = PROFILE) -> dict[str, str]:
    """Command -> the digest of its verb and of what the profile says of it. What the SDK adds has neither, and is not here."""
    said = profiles.load(str(profile)).commands
    found = {}
    for path in _verbs(verbs):
        name = " ".join(path.relative_to(verbs).with_suffix("").parts).replace("_", "-")
        text = behaviour(path) + repr(said.get(name)).encode()
        found[name] = hashlib.sha256(text).hexdigest()
    return found


def _verbs(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*.py")) if not path.name.startswith("_"))


def changed(before: Mapping[str, Verdict], now: Mapping[str, str]) -> set[str]:
    """The commands that are new, or that are not what they were when they were linted last."""
    return {name for name in now if name not in before or before[name].digest != now[name]}


def chosen(before: Mapping[str, Verdict], now: Mapping[str, str]) -> tuple[str, ...]:
    """The commands to lint. One that is gone is not; one without a verb is what the SDK adds, and is a group with its like."""
    known = {name: verdict for name, verdict in before.items() if name in now or not verdict.digest}
    found = changed(before, now)
    groups: dict[str, dict[str, Verdict]] = {}
    for name, verdict in known.items():
        groups.setdefault(name.partition(" ")[0] if " " in name else "", {})[name] = verdict
    for group in groups.values():
        found |= _covering(group)
    return tuple(sorted(found))


def _covering(group: Mapping[str, Verdict]) -> set[str]:
    """Commands that pass together what the commands of the group pass: the one with the most first, of equals the quickest."""
    passed = {name: set(verdict.passed) for name, verdict in group.items()}
    missing = set().union(*passed.values())
    found: set[str] = set()
    while missing:
        best = min(sorted(group), key=lambda name: (-len(passed[name] & missing), group[name].seconds))
        found.add(best)
        missing -= passed[best]
    return found
