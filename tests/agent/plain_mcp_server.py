"""An MCP server on stdio without the SDK, for tests whose point is not the server: it starts in a tenth of the time.

    python plain_mcp_server.py

It has the tools of `mcp_server`, by the same names (or those of TOOLS), and takes the same variables. What they answer is tested there.
"""

import json
import os
import sys
import time

_TEXT = {"type": "string"}
TOOLS = {"price": ["item"], "Read": ["file_path"], "sell": ["item"], "wait": []}
if "TOOLS" in os.environ:
    TOOLS = {name: [] for name in json.loads(os.environ["TOOLS"])}


def answer(method: str, params: dict[str, object]) -> dict[str, object]:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "shop", "version": "1"},
        }
    if method == "tools/list":
        return {
            "tools": [
                {"name": name, "inputSchema": {"type": "object", "properties": dict.fromkeys(members, _TEXT)}}
                for name, members in TOOLS.items()
            ]
        }
    assert method == "tools/call", method
    if params["name"] == "wait":
        with open("waiting", "w") as file:
            file.write(str(os.getpid()))
        time.sleep(600)
    return {"content": [{"type": "text", "text": f"{params['name']} was called"}]}


def main() -> None:
    if gate := os.environ.get("GATE"):
        with open(gate) as file:  # a FIFO: wait until the test opens it
            file.read()
    if ready := os.environ.get("READY"):
        with open(ready, "w") as file:
            file.write("ready")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = answer(message["method"], message.get("params") or {})
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
