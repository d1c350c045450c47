"""The command line, read by the table that `input-schema` publishes: what is documented is what is accepted.

Nothing that was typed is repeated in an error, since any word may be a secret in the wrong place: errors name options that
exist, or the number of the argument.
"""

import re
from typing import Any

from stream import Fail

Options = dict[str, Any]


def read_options(schema: dict[str, Any], words: list[str]) -> Options:
    """Values by name, from everything after the command."""
    rules = {rule["x-cli"]: (name, rule) for name, rule in schema["properties"].items()}
    operand = next((found for label, found in rules.items() if not label.startswith("--")), None)
    options: Options = {}
    only_operands = False
    rest = iter(enumerate(words, start=2))  # the command was the first argument
    for number, word in rest:
        label, equals, text = word.partition("=")
        if word == "--" and not only_operands:
            only_operands = True
        elif only_operands or word == "-" or not word.startswith("-"):
            if operand is None or operand[0] in options:
                raise _unexpected(number)
            options[operand[0]] = _value(operand[1], word)
        elif label not in rules:
            raise _unexpected(number)
        elif rules[label][1].get("type") == "boolean" and not equals:
            options[rules[label][0]] = True
        else:
            if not equals:
                _, text = next(rest, (0, "--"))
                if text.startswith("--"):
                    raise Fail("usage", "MISSING_VALUE", f"{label} needs a value", target=label)
            options[rules[label][0]] = _value(rules[label][1], text)
    for name in schema["required"]:
        if name not in options:
            label = schema["properties"][name]["x-cli"]
            raise Fail("usage", "MISSING_ARGUMENT", f"{label} is missing", target=label)
    return options


def _value(rule: dict[str, Any], text: str) -> str | int:
    if text in rule.get("enum", ()):
        return text
    number = int(text) if rule.get("type") == "integer" and re.fullmatch("[0-9]{1,9}", text) else None
    if number is not None and rule["minimum"] <= number <= rule["maximum"]:
        return number
    if rule.get("type") == "string" and len(text) >= rule.get("minLength", 0):
        return text
    code, message = rule.get("x-code", "INVALID_VALUE"), f"{rule['x-cli']} must be {rule['x-expects']}"
    raise Fail("usage", code, message, target=rule["x-cli"])


def _unexpected(number: int) -> Fail:
    return Fail("usage", "UNEXPECTED_ARGUMENT", f"Argument {number} is not expected here", argument=number)
