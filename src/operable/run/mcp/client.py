"""A client session with an MCP server, over any transport of the SDK: greeting, the list of tools, why it failed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from operable import __version__
from operable.run.mcp.process import Streams

_PAGES = 50  # of a listing; a server that has more goes in circles


@asynccontextmanager
async def client_session(streams: Streams, name: str) -> AsyncIterator[Any]:
    """An `mcp.ClientSession` on these streams, as the client `name`; the caller greets the server (`initialize`)."""
    from mcp import ClientSession, Implementation

    client = Implementation(name=name, version=__version__)
    async with ClientSession(*streams, client_info=client) as session:
        yield session


async def list_tools(session: Any) -> list[Any]:
    """All tools of a server, page by page."""
    from mcp.types import PaginatedRequestParams

    tools: list[Any] = []
    cursor: str | None = None
    for _ in range(_PAGES):
        page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor) if cursor else None)
        tools += page.tools
        cursor = page.next_cursor
        if not cursor:
            break
    return tools


def innermost(error: BaseException) -> BaseException:
    """The reason itself; task groups wrap what happened in them."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error
