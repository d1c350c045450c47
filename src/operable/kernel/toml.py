"""TOML from files that others may have written: read whole, or a ValueError.

The parser of the standard library keeps every prefix of a dotted key: a key of 60,000 parts, which is a line of 120 kB,
takes 14 GB. Keys are counted before it reads them.
"""

import re
from typing import Any

MOST_PARTS = 100
_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+"""
# Of a line that begins with a key, or with the name of a table; keys of inline tables cost no more than their text.
_LONG_KEY = re.compile(rf"^[ \t]*+\[{{0,2}}[ \t]*+(?:{_PART}\.[ \t]*+){{{MOST_PARTS}}}", re.MULTILINE)


def parse_toml(text: str) -> dict[str, Any]:
    """Raises ValueError if it is not TOML, is nested too deep, or has a key of more than `MOST_PARTS` parts."""
    import tomllib

    if found := _LONG_KEY.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise ValueError(f"a key has more than {MOST_PARTS} parts (at line {line})")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
