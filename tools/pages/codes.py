"""src/operable/spec/codes.json: what `operable explain` knows of errors, exit statuses and verdicts; from the reference."""

import json
from pathlib import Path

from operable.kernel import errors
from operable.run.judge import CODES as HOST_CODES
from operable.wire.verdict import CODES
from tools.failures import ERRNO, failures
from tools.pages.errors import CATEGORIES, EXIT_CODES
from tools.pages.verdicts import NOTES

PATH = "src/operable/spec/codes.json"
ROOT = Path(__file__).parents[2]


def render() -> str:
    """One code a line: two changes of two errors do not meet."""
    statuses = {
        str(getattr(errors, name)): {"constant": name, "meaning": text} for name, text in EXIT_CODES.items()
    }
    verdicts = {
        name: {"outcome": outcome, "reason": text}
        for name, (outcome, text) in {**HOST_CODES, **CODES}.items()
    }
    parts = {
        "categories": CATEGORIES,
        "exit_statuses": dict(sorted(statuses.items(), key=lambda item: int(item[0]))),
        "verdicts": dict(sorted(verdicts.items())),
        "notes": dict(sorted(NOTES.items())),
        "errors": _errors(),
    }
    return (
        "{\n" + ",\n".join(f" {json.dumps(name)}: {_lines(part)}" for name, part in parts.items()) + "\n}\n"
    )


def _errors() -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = {}
    for item in failures(ROOT / "src" / "operable"):
        if item.code == ERRNO:
            continue
        status = errors.CATEGORIES[item.category][1]
        if item.exit_code.startswith("EX_"):
            status = getattr(errors, item.exit_code)
        way = {"category": item.category, "exit": status, "message": item.message, "hint": item.hint}
        ways = found.setdefault(item.code, [])
        if way not in ways:
            ways.append(way)
    return dict(sorted(found.items()))


def _lines(part: object) -> str:
    assert isinstance(part, dict)
    lines = (f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in part.items())
    return "{\n" + ",\n".join(lines) + "\n }"
