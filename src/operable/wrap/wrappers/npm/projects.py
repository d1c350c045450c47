"""Runs the scripts of a project."""

from __future__ import annotations

import os

from operable.tool.framework import Change
from operable.wrap.runs import ran
from operable.wrap.scripts import script_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream


def plan_script(upstream: Upstream) -> Iterator[Change]:
    for name, words in script_words(upstream):
        yield Change("run", name, command=words, folder=os.getcwd())


def script(upstream: Upstream) -> Iterator[Any]:
    # What is for our own questions to npm is not for the script, which may ask npm itself.
    upstream.env |= {"npm_config_ignore_scripts": "false", "npm_config_json": "false"}
    name = upstream.inputs.get("script", "test")
    words = upstream.inputs["args"]
    yield from ran(upstream, [*upstream.words(), *(["--", *words] if words else [])], name=name)
