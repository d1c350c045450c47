"""What validation finds, and the generic checks with their exact messages.

The messages and their order are a contract: clients of other servers compare them. A value of null counts as absent.
"""

import re
from typing import Any

IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
TOKEN = re.compile(r"[A-Za-z0-9@:_./-]+\Z")
ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# What JavaScript's trim removes; Python's strip knows other characters.
_JS_SPACE = (
    "\t\n\v\f\r \u00a0\u1680"
    + "".join(map(chr, range(0x2000, 0x200B)))
    + "\u2028\u2029\u202f\u205f\u3000\ufeff"
)


def js_trim(text: str) -> str:
    return text.strip(_JS_SPACE)


class Findings:
    """Errors and warnings, in the order in which they were found."""

    def __init__(self) -> None:
        self.errors: list[dict[str, str]] = []
        self.warnings: list[dict[str, str]] = []
        self._once: set[tuple[str, str]] = set()

    def result(self) -> dict[str, Any]:
        return {"ok": not self.errors, "errors": self.errors, "warnings": self.warnings}

    def error(self, path: str, message: str) -> None:
        self.errors.append({"path": path, "message": message})

    def error_once(self, path: str, message: str) -> None:
        if (path, message) not in self._once:
            self._once.add((path, message))
            self.error(path, message)

    def warn(self, path: str, message: str) -> None:
        self.warnings.append({"path": path, "message": message})

    def string(self, value: Any, path: str, *, required: bool = False) -> bool:
        """Whether the value is a non-empty string that may be looked at further."""
        if value is None:
            if required:
                self.error(path, "is required")
            return False
        if not isinstance(value, str):
            self.error(path, "must be a string")
            return False
        if not js_trim(value):
            self.error(path, "cannot be empty")
            return False
        if _CONTROL.search(value):
            self.error(path, "contains unsupported control characters")
        return True

    def identifier(self, value: Any, path: str, *, required: bool = False) -> None:
        if self.string(value, path, required=required) and not IDENTIFIER.match(value):
            self.error(path, "must match /^[A-Za-z0-9][A-Za-z0-9._-]*$/")

    def token(self, value: Any, path: str, *, required: bool = False) -> None:
        if self.string(value, path, required=required) and not TOKEN.match(value):
            self.error(path, "contains unsupported path or token characters")

    def integer(self, value: Any, path: str, minimum: int) -> None:
        if value is not None and not (is_integer(value) and value >= minimum):
            self.error(path, f"must be an integer >= {minimum}")

    def number(self, value: Any, path: str) -> None:
        if value is not None and not (is_number(value) and value >= 0):
            self.error(path, "must be a number >= 0")

    def boolean(self, value: Any, path: str) -> None:
        if value is not None and not isinstance(value, bool):
            self.error(path, "must be a boolean")

    def enum(self, value: Any, path: str, allowed: list[str], *, required: bool = False) -> None:
        if value is None:
            if required:
                self.error(path, "is required")
        elif not (isinstance(value, str) and value in allowed):
            self.error(path, f"must be one of: {', '.join(allowed)}")

    def object(self, value: Any, path: str) -> dict[str, Any] | None:
        """The value when it is an object; None when it is absent or none, which is then reported."""
        if value is None:
            return None
        if not isinstance(value, dict):
            self.error(path, "must be an object")
            return None
        return value

    def array(self, value: Any, path: str) -> list[Any] | None:
        if value is None:
            return None
        if not isinstance(value, list):
            self.error(path, "must be an array")
            return None
        return value

    def strings(self, value: Any, path: str) -> None:
        """An array of non-empty strings, if anything."""
        for index, item in enumerate(self.array(value, path) or []):
            self.string(item, f"{path}[{index}]", required=True)

    def unique_strings(self, value: Any, path: str) -> None:
        seen: set[str] = set()
        for index, item in enumerate(self.array(value, path) or []):
            if self.string(item, f"{path}[{index}]", required=True):
                self.unique(item, f"{path}[{index}]", seen)

    def unique(self, value: Any, path: str, seen: set[str], where: str = "") -> None:
        """A text that is not among those that were `seen`, to which it is added."""
        if isinstance(value, str):
            if value in seen:
                self.error(path, f"must be unique{where}")
            seen.add(value)


def is_integer(value: Any) -> bool:
    """JavaScript's Number.isInteger: 5.0 is one, true is none."""
    return not isinstance(value, bool) and (
        isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    )


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
