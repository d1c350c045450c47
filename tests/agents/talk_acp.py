"""The conversations of an ACP agent, for the recorder."""

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.agents.wire import Wire

if TYPE_CHECKING:
    from tests.agents.record import Studio

FS = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
BARE = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}


class Acp:
    """A client that asks, and answers what it is asked."""

    def __init__(self, wire: Wire, *, allow: bool = True, mode: str = "") -> None:
        self.wire = wire
        self.allow = allow
        self.mode = mode
        self.session_id = ""
        self._number = 0
        self._finished: dict[str, Any] = {}

    def request(self, method: str, params: Any) -> Any:
        self._number += 1
        number = self._number
        self.wire.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return self.wire.until(lambda message: self._noticed(message, number))

    def _noticed(self, message: Any, number: int) -> bool:
        if "method" in message and "id" in message:
            self.wire.send({"jsonrpc": "2.0", "id": message["id"], **self._answer(message)})
            return False
        return message.get("id") == number and "method" not in message

    def _answer(self, message: Any) -> dict[str, Any]:
        params = message["params"]
        match message["method"]:
            case "session/request_permission":
                wanted = "allow_once" if self.allow else "reject_once"
                options = [option["optionId"] for option in params["options"] if option["kind"] == wanted]
                return {"result": {"outcome": {"outcome": "selected", "optionId": options[0]}}}
            case "fs/write_text_file":
                Path(params["path"]).write_text(params["content"], "utf-8")
                return {"result": {}}
            case "fs/read_text_file":
                try:
                    return {"result": {"content": Path(params["path"]).read_text("utf-8")}}
                except OSError as error:
                    return {"error": {"code": -32002, "message": str(error)}}
            case "terminal/create":
                # Goose puts a whole shell line into `command`, without `args`.
                command = (
                    [params["command"], *params["args"]]
                    if params.get("args")
                    else ["sh", "-c", params["command"]]
                )
                self._finished["terminal-1"] = subprocess.run(
                    command, cwd=params.get("cwd"), capture_output=True, text=True, timeout=60, check=False
                )
                return {"result": {"terminalId": "terminal-1"}}
            case "terminal/wait_for_exit":
                return {"result": {"exitCode": self._finished["terminal-1"].returncode, "signal": None}}
            case "terminal/output":
                done = self._finished["terminal-1"]
                status = {"exitCode": done.returncode, "signal": None}
                return {"result": {"output": done.stdout, "truncated": False, "exitStatus": status}}
            case "terminal/release" | "terminal/kill":
                return {"result": {}}
            case _:
                return {"error": {"code": -32601, "message": "Method not found"}}

    def open(self, cwd: Path, capabilities: Any = None) -> None:
        self.initialize(capabilities)
        new = self.request("session/new", {"cwd": str(cwd), "mcpServers": []})
        self.session_id = new["result"]["sessionId"]
        if self.mode:
            self.request("session/set_mode", {"sessionId": self.session_id, "modeId": self.mode})

    def initialize(self, capabilities: Any = None) -> None:
        self.request(
            "initialize",
            {
                "protocolVersion": 1,
                "clientCapabilities": capabilities or BARE,
                "clientInfo": {"name": "operable", "version": "0.1.0"},
            },
        )

    def prompt(self, text: str) -> Any:
        return self.request(
            "session/prompt", {"sessionId": self.session_id, "prompt": [{"type": "text", "text": text}]}
        )

    def prompt_and_cancel(self, text: str) -> Any:
        """Cancel when the first piece of text is there; the answer to the prompt."""
        self._number += 1
        number = self._number
        params = {"sessionId": self.session_id, "prompt": [{"type": "text", "text": text}]}
        self.wire.send({"jsonrpc": "2.0", "id": number, "method": "session/prompt", "params": params})
        self.wire.until(_is_text)
        self.wire.send(
            {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": self.session_id}}
        )
        return self.wire.until(lambda message: self._noticed(message, number))


def _is_text(message: Any) -> bool:
    update = message.get("params", {}).get("update", {}) if message.get("method") == "session/update" else {}
    return bool(update.get("sessionUpdate") == "agent_message_chunk" and update["content"].get("text"))


def record(studio: "Studio", argv: list[str], mode: str = "") -> None:
    """`mode`: in which it asks, where it does not begin in one."""
    from tests.agents.record import script

    with studio.take("two-turns", argv) as wire:
        acp = Acp(wire, mode=mode)
        acp.open(studio.work)
        acp.prompt(
            script([{"think": "Let me think.", "chunks": 2}, {"say": "Hello there, world.", "chunks": 4}])
        )
        acp.prompt(script([{"say": "And again."}]))
    with studio.take("write-allowed", argv) as wire:
        acp = Acp(wire, mode=mode)
        acp.open(studio.work)
        acp.prompt(studio.write("allowed.txt", "Written."))
        session_id = acp.session_id
    with studio.take("write-denied", argv) as wire:
        acp = Acp(wire, allow=False, mode=mode)
        acp.open(studio.work)
        acp.prompt(studio.write("denied.txt", "I was told no."))
    with studio.take("shell-allowed", argv) as wire:
        acp = Acp(wire, mode=mode)
        acp.open(studio.work)
        call = {"call": "shell", "args": {"command": f"echo made > {studio.work}/shell.txt"}}
        acp.prompt(script([call], [{"say": "Ran."}]))
    with studio.take("cancelled", argv) as wire:
        acp = Acp(wire, mode=mode)
        acp.open(studio.work)
        acp.prompt_and_cancel(
            script([{"say": "On and on and on. ", "chunks": 3, "delay": 0.05}, {"hang": True}])
        )
        acp.prompt(script([{"say": "Still here."}]))
    with studio.take("loaded", argv) as wire:
        acp = Acp(wire, mode=mode)
        acp.initialize()
        acp.session_id = session_id
        acp.request("session/load", {"sessionId": session_id, "cwd": str(studio.work), "mcpServers": []})
        acp.prompt(script([{"say": "I remember."}]))
    with studio.take("model-error", argv) as wire:
        acp = Acp(wire, mode=mode)
        acp.open(studio.work)
        acp.prompt(script([{"status": 400, "message": "scripted bad request"}]))
        acp.prompt(script([{"say": "Better now."}]))
    if studio.agent == "goose":
        with studio.take("client-methods", argv) as wire:
            acp = Acp(wire, mode=mode)
            acp.open(studio.work, FS)
            acp.prompt(studio.write("by-client.txt", "Written."))
            call = {"call": "shell", "args": {"command": "echo by the host"}}
            acp.prompt(script([call], [{"say": "Ran."}]))
    if studio.agent == "opencode":
        # It asks about the folder outside of the workspace first, and about the file then.
        with studio.take("outside-allowed", argv) as wire:
            acp = Acp(wire, mode=mode)
            acp.open(studio.work)
            call = {
                "call": "write",
                "args": {"path": str(studio.elsewhere / "outside.txt"), "text": "made\n"},
            }
            acp.prompt(script([call], [{"say": "Written."}]))
