"""The values that a filter gives, one a line. jq without a file reads stdin, where a wrapped program has nothing: that would
give an empty answer to a caller that pipes a document into it, so a file has to be named.
"""

from __future__ import annotations

import os

from operable.kernel.errors import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream


def filtered(upstream: Upstream) -> Iterator[Any]:
    from operable.wrap.parsers.jsonl import PARSER

    if not upstream.inputs["files"] and not upstream.inputs["null_input"]:
        raise Fail(
            "usage",
            "MISSING_OPERAND",
            "there is no document to filter; stdin is not read",
            hint="name files, or give --null-input",
        )
    home = os.environ.get("HOME", "")
    if os.path.isfile(os.path.join(home, ".jq")):
        # A file of that name is put before every filter: one that defines `map` again would change what filters mean.
        # A folder of that name only holds modules, which a filter has to name.
        upstream.env["HOME"] = os.devnull
    yield from PARSER(upstream, upstream.command.parse)
