"""src/operable/spec/codes.json: what `operable explain` knows of errors, exit statuses and verdicts; from the reference."""

import ast
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
        "warnings": _warnings(),
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


def _warnings() -> dict[str, list[str]]:
    """What each code warns of: the first two words of `Warn(CODE, MESSAGE)` and of `context.warn(CODE, MESSAGE)`."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "src" / "operable").rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        assigned = [each for each in ast.walk(tree) if isinstance(each, ast.Assign)]
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or len(node.args) < 2:
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            code, message = node.args[:2]
            if called in ("Warn", "warn") and isinstance(code, ast.Constant) and str(code.value).isupper():
                texts = found.setdefault(str(code.value), [])
                named = [
                    each.value
                    for each in assigned
                    if isinstance(message, ast.Name)
                    and each.lineno < node.lineno
                    and ast.unparse(each.targets[0]) == message.id
                ]
                texts += [text] if (text := _text(named[-1] if named else message)) not in texts else []
    return dict(sorted(found.items()))


def _text(node: ast.expr) -> str:
    """A message as it is in the source; what is filled in by its name, or `{…}`."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if not isinstance(node, ast.JoinedStr):
        return "{…}"
    parts = (each.value if isinstance(each, ast.FormattedValue) else each for each in node.values)
    return "".join(
        str(each.value)
        if isinstance(each, ast.Constant)
        else f"{{{each.id}}}"
        if isinstance(each, ast.Name)
        else "{…}"
        for each in parts
    )


def _lines(part: object) -> str:
    assert isinstance(part, dict)
    lines = (f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in part.items())
    return "{\n" + ",\n".join(lines) + "\n }"
