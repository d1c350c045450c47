"""docs/reference/manifest-problems.md: every rule that a manifest can break, collected from the source of the rules."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tools.failures import Function, _callee, _calls, _Scope, _template
from tools.markdown import code, sentences, table

PATH = "docs/reference/manifest-problems.md"
SOURCE = Path(__file__).parents[2] / "src" / "operable" / "manifest"
# Where a complaint is made: the function -> which arguments are the rule and the message.
_MAKERS = {"problem": (0, 1), "_note": (1, 2), "Problem": (3, 4)}
# Rules that are named in a table of the source, with what they complain about.
NAMED = {
    "ACP_REF_UNRESOLVABLE": "`acp` leads to no file of the workspace.",
    "FILE_MISSING": "The file does not exist.",
    "FILE_UNREADABLE": "The file cannot be read.",
    "PLACEHOLDER": "A digest or a revision is still a placeholder.",
    "REF_UNRESOLVABLE": "A reference leads to no file of the workspace.",
    "RUNNER_REF_UNRESOLVABLE": "`runner` leads to no file of the workspace.",
    "SANDBOX_REF_UNRESOLVABLE": "`sandbox` leads to no file of the workspace.",
    "SECRETS_REF_UNRESOLVABLE": "`auth.ref` leads to no file of the workspace.",
    "SHA256_FORM": "A digest is not written as 64 lower-case hexadecimal digits.",
    "TOOL_REF_UNRESOLVABLE": "A command leads to no TOOL.md of the workspace.",
    "VERSION_EXPRESSION": "`version_check.parse` is not an ECMAScript expression with a group, or could run forever.",
    "VERSION_RANGE": "`version_check.range` is not an npm range.",
}
# Codes of `SelectionError`: what a caller can choose wrongly of a manifest that is right.
REFUSALS = {
    "CONTINUATION_UNSUPPORTED": "The strategy is not among those that the manifest supports.",
    "MODEL_CONFLICT": "The model and the option `model` say different things.",
    "MODEL_NOT_ALLOWED": "The model is not among those that the manifest allows.",
    "MODE_UNKNOWN": "The manifest has no such mode.",
    "OPTION_ENUM": "The value is not among those of the option.",
    "OPTION_RANGE": "The number is outside of the option's bounds.",
    "OPTION_TEXT": "The text cannot be an argument: a null character, or a dash where the program would read an option.",
    "OPTION_TYPE": "The value is of another type than the option.",
    "OPTION_UNKNOWN": "The manifest has no such option.",
    "SELECTION_INVALID": "Several things of the above at once; `problems` has all of them.",
}


def render() -> str:
    return "\n".join(
        [
            "# Problems of manifests",
            "",
            "Generated from the source by `./dev fix`. Why some of them are as they are:",
            "[decision 0012](../decisions/0012-manifest-contradictions.md). How to write a manifest:",
            "[write an agent manifest](../guides/write-an-agent-manifest.md).",
            "",
            "`Problem.rule` is one of these; it is the `code` of the `ManifestError` when no other one is broken.",
            "",
            *table(["rule", "what it says"], ((code(rule), text) for rule, text in sorted(rules().items()))),
            "",
            "## Choosing mode, options, model and continuation",
            "",
            "`SelectionError.code`, and the codes of its `refusals`:",
            "",
            *table(["code", "what it says"], ((code(name), text) for name, text in REFUSALS.items())),
            "",
        ]
    )


def rules() -> dict[str, str]:
    """Rule -> what it says, `{…}` standing for what is known only then; several messages one after the other."""
    found: dict[str, list[str]] = {rule: [text] for rule, text in NAMED.items()}
    for path in sorted(SOURCE.rglob("*.py")):
        for rule, message in _complaints(ast.parse(path.read_text("utf-8"))):
            if rule not in NAMED and message not in found.setdefault(rule, []):
                found[rule].append(message)
    return {rule: "\n".join(messages) for rule, messages in found.items()}


def _complaints(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for call, function in _calls(tree, None):
        places = _MAKERS.get(_callee(call))
        if places is None or len(call.args) <= max(places):
            continue
        rule, message = (call.args[place] for place in places)
        if isinstance(rule, ast.Constant) and isinstance(rule.value, str):
            yield rule.value, sentences(_template(_written(message, function), _Scope(function, {})))


def _written(message: ast.expr, function: Function | None) -> ast.expr:
    """The message as it is written: that of the nearest assignment above, when it has a name."""
    if not isinstance(message, ast.Name) or function is None:
        return message
    above = [
        part
        for part in ast.walk(function)
        if isinstance(part, ast.Assign)
        and part.lineno <= message.lineno
        and any(isinstance(to, ast.Name) and to.id == message.id for to in part.targets)
    ]
    return max(above, key=lambda part: part.lineno).value if above else message
