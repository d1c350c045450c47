"""Runs a command on another machine. The shell there gets each word quoted: ssh only joins them."""

from __future__ import annotations

import shlex

from operable.kernel.redact import redact_text
from operable.tool.framework import Change
from operable.wrap.runs import ran

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

# ssh itself failed; a command that ends with it looks the same.
_OWN = (255,)


def plan_run(upstream: Upstream) -> Iterator[Change]:
    upstream.words()
    inputs = upstream.inputs
    details = {name: inputs[name] for name in ("user", "port", "identity") if inputs.get(name) is not None}
    yield Change("run", inputs["host"], words=inputs["command"], **details)


def run(upstream: Upstream) -> Iterator[Any]:
    inputs = upstream.inputs
    words = [*upstream.words(), shlex.join(inputs["command"])]
    name = redact_text(f"{inputs['host']} {' '.join(inputs['command'])}")
    yield from ran(upstream, words, name=name, own=_OWN)
