"""MCP servers that a host adds to a conversation."""

from collections.abc import Callable

from operable.agent.cancellation import Cancellation
from operable.agent.conversation import Conversation
from operable.wire import json_stream as protocol


class McpServers:
    """The servers of one conversation."""

    def __init__(self, conversation: Conversation, emit: Callable[[protocol.Event], None]) -> None:
        self._conversation = conversation
        self._emit = emit

    def add(self, server: protocol.AddMcpServer) -> None:
        problem = protocol.Problem(
            code="config_error", message=f"MCP server {server.name}: MCP is not available in this build"
        )
        self._emit(protocol.Error(error=problem))

    def settle(self, cancellation: Cancellation) -> None:
        """Wait until the servers that were added have answered or failed."""

    def close(self) -> None: ...
