"""Whether a user is logged in, by what a manifest declares of it: variables and files. Nothing is run, no file is read."""

from __future__ import annotations

import os
from collections.abc import Sequence


def login_state(variables: Sequence[str], paths: Sequence[str], workspace: str, *, can_be_asked: bool) -> str:
    """`authed` when one of them is there, else `unauthed`; `unknown` where only the program itself could say."""
    there = any(os.environ.get(name) for name in variables) or any(
        os.path.exists(os.path.join(workspace, os.path.expanduser(path))) for path in paths
    )
    if there:
        return "authed"
    return "unknown" if can_be_asked or not (variables or paths) else "unauthed"
