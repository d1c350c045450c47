"""The command line, read by the table that `input-schema` publishes: what is documented is what is accepted.

Nothing that was typed is repeated in an error, since any word may be a secret in the wrong place: errors name options that
exist, or the number of the argument.
"""

import re
from typing import Any

from stream import Fail

Options = dict[str, Any]


def command_position(known: dict[str, Any], argv: list[str]) -> int | None:
    """Where the command is: the first word that is neither an option nor the value of one."""
    index = 0
    while index < len(argv):
        word = argv[index]
        if not word.startswith("-"):
            return index
        rule = known.get(word[2:]) if word.startswith("--") else None
        index += 1 if rule is None or rule.get("type") == "boolean" else 2
    return None


def read_options(schema: dict[str, Any], argv: list[str], position: int | None) -> Options:
    """Everything but the word at `position`, as values by name."""
    properties: dict[str, Any] = schema["properties"]
    operands = [name for name, rule in properties.items() if not rule["x-cli"].startswith("--")]
    options: Options = {}
    only_operands = False
    index = 0
    while index < len(argv):
        word = argv[index]
        index += 1
        if index - 1 == position:
            continue
        if only_operands or not word.startswith("-") or word == "-":
            _operand(properties, operands, options, word, index)
        elif word == "--":
            only_operands = True
        else:
            index = _option(properties, options, argv, index)
    for name in schema["required"]:
        if name not in options:
            label = properties[name]["x-cli"]
            code = "MISSING_OPTION" if label.startswith("--") else "MISSING_OPERAND"
            raise Fail("usage", code, f"{label} is missing", target=label)
    return options


def _operand(properties: dict[str, Any], names: list[str], options: Options, word: str, number: int) -> None:
    if names and properties[names[0]].get("type") == "array":
        options.setdefault(names[0], []).append(word)
    elif names and names[0] not in options:
        options[names[0]] = word
    else:
        raise Fail(
            "usage", "UNEXPECTED_OPERAND", f"Argument {number} is an operand too many", argument=number
        )


def _option(properties: dict[str, Any], options: Options, argv: list[str], number: int) -> int:
    """Take the option that is argument `number`; the index of the argument after it and its value."""
    label, equals, value = argv[number - 1].partition("=")
    name = "help" if label == "-h" else label[2:]
    rule = properties.get(name)
    if rule is None or (label != "-h" and rule["x-cli"] != label):
        raise Fail("usage", "UNKNOWN_OPTION", f"Argument {number} is not an option here", argument=number)
    if rule.get("type") == "boolean":
        if equals:
            raise Fail("usage", "INVALID_VALUE", f"{rule['x-cli']} takes no value", target=rule["x-cli"])
        options[name] = True
        return number
    if not equals:
        if number == len(argv) or argv[number].startswith("--"):
            raise Fail("usage", "MISSING_VALUE", f"{label} needs a value", target=label)
        value = argv[number]
        number += 1
    options[name] = _value(rule, value)
    return number


def _value(rule: dict[str, Any], text: str) -> str | int:
    if "enum" in rule and text in rule["enum"]:
        return text
    if rule.get("type") == "integer" and re.fullmatch("[0-9]{1,9}", text):
        number = int(text)
        if rule["minimum"] <= number <= rule["maximum"]:
            return number
    if rule.get("type") == "string" and len(text) >= rule.get("minLength", 0):
        return text
    message = f"{rule['x-cli']} must be {rule['x-expects']}"
    raise Fail("usage", rule.get("x-code", "INVALID_VALUE"), message, target=rule["x-cli"])
