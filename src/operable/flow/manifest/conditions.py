r"""Trigger conditions: a substring or an ECMAScript regular expression, looked for in the parent's output.

The expressions are those of JavaScript, run by an ECMAScript engine (`regress`), because the two dialects differ in
ways that no translation by hand gets right (groups, `$`, `\d`, braces). The engine backtracks: a caller that
matches output of others bounds it, see `operable.flow.run.trigger_match`.
"""

from typing import Any

from operable.flow.manifest.findings import Findings, js_trim

_CONTAINS, _REGEX = "contains:", "regex:"


def check_condition(findings: Findings, value: Any, path: str) -> None:
    """Report what is wrong with a condition."""
    if value is None:
        return
    findings.string(value, path)
    if not isinstance(value, str):
        return
    if value.startswith(_REGEX):
        source = value.removeprefix(_REGEX)
        if not js_trim(source):
            findings.error(path, "regex trigger condition cannot be empty")
        elif (problem := regex_problem(source)) is not None:
            findings.error(path, f"invalid regex: {problem}")
    elif value.startswith(_CONTAINS):
        if not js_trim(value.removeprefix(_CONTAINS)):
            findings.error(path, "contains trigger condition cannot be empty")
    else:
        findings.error(path, "must start with contains: or regex:")


def regex_problem(source: str) -> str | None:
    """Why this is not an ECMAScript regular expression; None when it is one."""
    import regress  # only manifests with such a condition pay for it

    try:
        regress.Regex(source)
    except regress.RegressError as problem:
        return str(problem)
    return None
