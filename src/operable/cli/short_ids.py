"""Ids as people see them in tables: the beginning of one, which every command that takes the id takes for it.

Machines get whole ids. A beginning that is not unique is refused by the command that gets it.
"""

# `run_` and eight digits, or twelve digits of an execution: among a million runs, one id in four thousand is not unique so.
_DIGITS = 12
# `ask_sha256:` and twelve digits.
QUESTION = 23


def short_id(text: str, length: int = _DIGITS) -> str:
    return text[:length]
