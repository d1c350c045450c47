"""Secrets that are none: values that can be recognised in any output, also when something has encoded them.

A canary has characters that URL encoding changes, so that its raw and its encoded form can be distinguished. In base64 the
same bytes look different depending on where they are in what was encoded: all three alignments are looked for.
"""

from __future__ import annotations

import base64
import re
from urllib.parse import quote, quote_plus

_ESCAPED = re.compile(r"\\+u00([0-7][0-9a-fA-F])")


def canary(label: str) -> str:
    """A value that stands for a secret; the label says which one leaked."""
    return f"Zq7+{label}+9xKtRwe2V"


def forms(value: str) -> dict[str, str]:
    """How the value may appear -> what to look for."""
    found = {
        "as it is": value,
        "URL-encoded": quote(value, safe=""),
        "form-encoded": quote_plus(value, safe=""),
    }
    raw = value.encode()
    found["in hexadecimal"] = raw.hex()
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + raw).decode()
        # The characters at both ends depend on the neighbours.
        found[f"in base64 ({shift})"] = encoded[-(-shift * 8 // 6) : len(encoded) - 4]
    return found


def leak(text: str, value: str) -> str | None:
    """In which form the value is in the text. Hexadecimal digits may be written large or small, and any character may be
    escaped as in JSON.
    """
    text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    for form, needle in forms(value).items():
        found = needle in text if form.startswith("in base64") else needle.lower() in text.lower()
        if found:
            return form.split(" (")[0]
    return None
