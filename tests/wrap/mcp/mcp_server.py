"""An MCP server for the tests, made with the official SDK."""

import asyncio
import os
from pathlib import Path

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import ResourceLink, ToolAnnotations
from pydantic import BaseModel

server = MCPServer("Test Server", version="1.2.3")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int = 2, limit: int = 0) -> int:
    """Add numbers."""
    return a + b + limit


class Person(BaseModel):
    name: str
    age: int


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def census(people: list[Person], tags: list[str] | None = None) -> str:
    """Count people."""
    return ", ".join(f"{each.name} {each.age}" for each in people) + "; " + " ".join(tags or [])


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def steps(ctx: Context) -> str:
    """Take steps."""
    await ctx.report_progress(1, 2, "half")
    await ctx.report_progress(2, 2, "done")
    return "there"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def broken() -> str:
    """Fail."""
    raise ValueError("it is broken")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def hang(path: str) -> str:
    """Never answer."""
    Path(path).write_text(str(os.getpid()), "ascii")  # noqa: ASYNC240 - nobody else is waiting
    await asyncio.sleep(600)
    return ""


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def variable(name: str) -> str:
    """Say what a variable holds."""
    if os.environ.get("FAIL"):
        raise ValueError(f"no: {os.environ[name]}")
    return f"<{os.environ.get(name)}>"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def tell(name: str, ctx: Context) -> list[ResourceLink]:
    """Say it on the way, and in an address."""
    await ctx.report_progress(1, 2, f"with {os.environ[name]}")
    return [ResourceLink(name=os.environ[name], uri=f"https://example.org/?key={os.environ[name]}")]


@server.resource("memo://{name}")
def memo(name: str) -> str:
    """A text that this process has, and nobody after it."""
    return {"short": "remember", "long": "x" * (5 * 1024 * 1024)}[name]


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def linked(names: list[str]) -> list[ResourceLink]:
    """Link to memos."""
    return [ResourceLink(name=name, uri=f"memo://{name}") for name in names]


@server.tool()
def delete_everything(path: str) -> str:
    """Delete it."""
    with open(path, "a", encoding="ascii") as file:
        file.write("x")
    return "deleted"


server.run()
