"""Manifests made from the published shape: every member of every block comes up, right, null and wrong."""

import json
from random import Random
from typing import Any

from operable.flow.manifest.shape import MANIFEST, Node

Json = dict[str, Any]
_RIGHT: dict[str, list[Any]] = {
    "string": ["x", "a b", "é\u2028", "\U0001f600", "contains:x", "regex:a"],
    "text": ["", "x", "\x01"],
    "identifier": ["a", "b", "w", "a.b-c_9"],
    "token": ["x", "a@b:c/d.e_f-1"],
    "env_name": ["A", "_b9"],
    "file_prefix": ["x", "a" * 80],
    "boolean": [True, False],
    "number": [0, 1.5, 1e300],
    "map": [{}, {"x": 1}, {"a": {"b": []}}],
    "env": [{}, {"A": "b"}],
    "any": [None, 1, "x", []],
}
_WRONG = [
    None, True, 0, -1, 5, 1.5, 5.0, -0.0, 1e308, 2**53, "", " ", "x", "a b", "-", "a\x01", "\ufeff", "\u0085", "\u180e", "a\n",
    "shell", "none", "0.1", "9lives", "a" * 81, [], {}, ["x"], [""], ["x", "x"], [None], [1, 1.0], {"x": 1}, {"": ""}, {"9": "x"},
    {"A": ""}, {"A": None}, {"env": None}, {"literal": "x", "env": "E"},
]  # fmt: skip
_STRANGE = ["extra", "command", "literal", "verify", "schedule", "ref", "env", ""]


class Shaped:
    """Draws manifests; `drawn` are the members that came up, as `block.member`."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self.drawn: set[str] = set()

    def manifest(self) -> Json:
        """Mostly right, with none to two wrong things somewhere."""
        value: Json = self._value(MANIFEST)
        for _ in range(self._random.choice([0, 0, 1, 1, 2])):
            self._spoil(value)
        return {**value, "version": "0.2"}

    def _value(self, node: Node) -> Any:
        draw = self._random
        match node.kind:
            case "object":
                return self._object(node)
            case "array":
                count = draw.choice([1, 1, 2, 3] if node.non_empty else [0, 1, 1, 2])
                return [self._value(node.item) for _ in range(count)] if node.item else []
            case "enum":
                return draw.choice(node.enum)
            case "integer":
                return (node.minimum or 0) + draw.choice([0, 0, 1, 7])
        return draw.choice(_RIGHT[node.kind])

    def _object(self, node: Node) -> Json:
        often, made = self._random.choice([0, 0.1, 0.1, 0.5]), {}
        for name, child in node.fields.items():
            if name in node.required or self._random.random() < often:
                null = name not in node.required and self._random.random() < 0.1
                made[name] = None if null else self._value(child)
                self.drawn.add(f"{node.name}.{name}")
        if node.name in ("task", "on_failure") and self._random.random() < 0.98:
            self._complete(node, made)
        return made

    def _complete(self, node: Node, task: Json) -> None:
        """One invocation and one surface: what a task must have exactly one of."""
        draw = self._random
        if node.name == "task":
            kept, dropped = draw.sample(["schedule", "trigger"], 2)
            task.pop(dropped, None)
            task[kept] = {"cron": "x"} if kept == "schedule" else {"parent": "a", "on": "success"}
        target = task.get("target")
        shell = draw.random() < 0.5 if target is None else target["session_target"] == "shell"
        task.pop("prompt" if shell else "shell", None)
        if not shell:
            task["prompt"] = "x"
        elif task.get("shell") is None:
            task["shell"] = self._value(node.fields["shell"])
        if shell and target and draw.random() < 0.8:
            target.pop("payload_kind", None)

    def _spoil(self, value: Any) -> None:
        draw = self._random
        while True:
            places = list(value) if isinstance(value, dict) else list(range(len(value)))
            if not places:
                return
            place = draw.choice(places)
            if isinstance(value[place], dict | list) and value[place] and draw.random() < 0.8:
                value = value[place]
                continue
            break
        chance = draw.random()
        wrong = json.loads(json.dumps(draw.choice(_WRONG)))
        if chance < 0.2:
            del value[place]
        elif chance < 0.35 and isinstance(value, dict):
            value[draw.choice(_STRANGE)] = wrong
        else:
            value[place] = wrong


def members(node: Node = MANIFEST, done: set[str] | None = None) -> set[str]:
    """Every member of every block, as `block.member`."""
    done = set() if done is None else done
    if node.item is not None:
        return members(node.item, done)
    if node.kind != "object" or node.name in done:
        return set()
    done.add(node.name)
    found = {f"{node.name}.{name}" for name in node.fields}
    return found.union(*(members(child, done) for child in node.fields.values()))
