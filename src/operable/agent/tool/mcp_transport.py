"""How MCP servers are reached: a process of ours on its stdin and stdout, or a remote HTTP server.

HTTP is the official SDK's; processes are started by `operable.run.mcp.process`.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from operable.kernel.errors import Fail
from operable.proc.spawn import prepare
from operable.run.mcp.process import Streams, mcp_process
from operable.wire.json_stream import AddMcpServerFrame

_HTTP_TIMEOUT, _HTTP_SILENCE = 30.0, 300.0


def check(server: AddMcpServerFrame) -> None:
    """Fail for what cannot be meant."""
    if server.transport not in ("stdio", "sse", "streamable-http", "streamable_http"):
        raise _refused(server, "transport is stdio, sse or streamable-http")
    if server.transport == "stdio" and not server.command:
        raise _refused(server, "a stdio server needs a command")
    if server.transport != "stdio" and not (server.url or "").startswith(("http://", "https://")):
        raise _refused(server, f"a server over {server.transport} needs a url with http or https")
    if not server.name or "/" in server.name:
        raise _refused(
            server, "a server needs a name, without a slash (SERVER/TOOL is how --allow names its tools)"
        )


def _refused(server: AddMcpServerFrame, problem: str) -> Fail:
    return Fail("usage", "MCP_SERVER_INVALID", f"AddMcpServer '{server.name[:200]}': {problem}")


def transport(server: AddMcpServerFrame, workspace: str) -> AbstractAsyncContextManager[Streams]:
    """The connection of a server that was checked."""
    if server.transport == "stdio":
        argv = [server.command or "", *(server.args or ())]
        # No more of our environment than every child gets, and what the host has given for this server.
        return mcp_process(prepare(argv, env=server.env, cwd=workspace)._replace(tree=True))
    if server.transport == "sse":
        from mcp.client.sse import sse_client

        return sse_client(server.url or "", headers=dict(server.headers or {}))
    return _streamable_http(server)


@asynccontextmanager
async def _streamable_http(server: AddMcpServerFrame) -> AsyncIterator[Streams]:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    # A stream of events may be silent for long; everything else may not.
    timeout = httpx2.Timeout(_HTTP_TIMEOUT, read=_HTTP_SILENCE)
    async with (
        httpx2.AsyncClient(headers=dict(server.headers or {}), timeout=timeout) as client,
        streamable_http_client(server.url or "", http_client=client) as streams,
    ):
        yield streams
