"""`operable mcp`: which things are served, and on what."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Sequence

from operable.kernel.catalogue import unknown
from operable.serve.catalog import catalog
from operable.serve.mcp_tools import Toolbox
from operable.serve.mcp_transports import serve_http, serve_stdio, token_of
from operable.serve.operables import Operable
from operable.tool import Relay
from operable.tool.places import state_directory

_KINDS = ("app", "tool", "wrap")


def serve(
    relay: Relay,
    *,
    only: Sequence[str],
    kinds: Sequence[str],
    enabled: bool,
    address: tuple[str, int] | None,
    workspace: str,
) -> None:
    """Serve until the client leaves, or until a signal."""
    relay.conclude(message="The client has left." if address is None else "Stopped.")
    toolbox = Toolbox(chosen(workspace, only, kinds), enabled=enabled)
    try:
        if address is None:
            stdout = relay.take_stdout()
            asyncio.run(serve_stdio(toolbox, 0, stdout))
            return
        token, path = token_of(state_directory("serve"))

        def ready(port: int) -> None:
            host = f"[{address[0]}]" if ":" in address[0] else address[0]
            sys.stderr.write(f"operable mcp: http://{host}:{port}/mcp (bearer token: {path})\n")
            sys.stderr.flush()

        asyncio.run(serve_http(toolbox, *address, token, ready))
    finally:
        with contextlib.suppress(FileNotFoundError):
            toolbox.results.close()


def chosen(workspace: str, only: Sequence[str], kinds: Sequence[str]) -> list[Operable]:
    """What can be called; Fail for a name that nothing has."""
    found = [
        each for each in catalog(os.path.realpath(workspace), only=kinds or _KINDS) if each.door is not None
    ]
    for name in only:
        if not any(each.name == name for each in found):
            raise unknown("operable", name, sorted({each.name for each in found}))
    return [each for each in found if not only or each.name in only]
