"""The conversations of Codex's app-server, for the recorder."""

from typing import TYPE_CHECKING, Any

from tests.agents.wire import Wire

if TYPE_CHECKING:
    from tests.agents.record import Studio

ARGV = ["codex", "app-server"]


class Codex:
    def __init__(self, wire: Wire, *, decision: str = "accept") -> None:
        self.wire = wire
        self.decision = decision
        self.thread_id = ""
        self._number = 0

    def request(self, method: str, params: Any) -> Any:
        self._number += 1
        number = self._number
        self.wire.send({"id": number, "method": method, "params": params})
        return self.wire.until(lambda message: message.get("id") == number and "method" not in message)

    def initialize(self) -> None:
        info = {"name": "operable", "title": "Operable", "version": "0.1.0"}
        self.request("initialize", {"clientInfo": info})
        self.wire.send({"method": "initialized"})

    def open(self, cwd: str) -> None:
        self.initialize()
        started = self.request(
            "thread/start", {"cwd": cwd, "approvalPolicy": "on-request", "sandbox": "read-only"}
        )
        self.thread_id = started["result"]["thread"]["id"]

    def start(self, text: str) -> str:
        started = self.request(
            "turn/start", {"threadId": self.thread_id, "input": [{"type": "text", "text": text}]}
        )
        return str(started["result"]["turn"]["id"])

    def prompt(self, text: str) -> None:
        self.start(text)
        self.wire.until(self._ended)

    def _ended(self, message: Any) -> bool:
        if "id" in message and message.get("method", "").endswith("requestApproval"):
            self.wire.send({"id": message["id"], "result": {"decision": self.decision}})
        return bool(message.get("method") == "turn/completed")

    def prompt_and_interrupt(self, text: str) -> None:
        turn_id = self.start(text)
        self.wire.until(lambda message: message.get("method") == "item/agentMessage/delta")
        self.request("turn/interrupt", {"threadId": self.thread_id, "turnId": turn_id})
        self.wire.until(self._ended)


def record(studio: "Studio") -> None:
    from tests.agents.record import script

    cwd = str(studio.work)
    with studio.take("two-turns", ARGV) as wire:
        codex = Codex(wire)
        codex.open(cwd)
        codex.prompt(
            script([{"think": "Let me think.", "chunks": 2}, {"say": "Hello there, world.", "chunks": 4}])
        )
        codex.prompt(script([{"say": "And again."}]))
        thread_id = codex.thread_id
    for scenario, decision in (("write-allowed", "accept"), ("write-denied", "decline")):
        with studio.take(scenario, ARGV) as wire:
            codex = Codex(wire, decision=decision)
            codex.open(cwd)
            codex.prompt(studio.write(f"{decision}.txt", f"It was: {decision}."))
    for scenario, decision in (
        ("shell-allowed", "accept"),
        ("shell-denied", "decline"),
        ("ask-cancelled", "cancel"),
    ):
        with studio.take(scenario, ARGV) as wire:
            codex = Codex(wire, decision=decision)
            codex.open(cwd)
            call = {"call": "shell", "args": {"command": f"echo made > {cwd}/{decision}-shell.txt"}}
            codex.prompt(script([call], [{"say": f"It was: {decision}."}]))
    with studio.take("cancelled", ARGV) as wire:
        codex = Codex(wire)
        codex.open(cwd)
        codex.prompt_and_interrupt(
            script([{"say": "On and on and on. ", "chunks": 3, "delay": 0.05}, {"hang": True}])
        )
        codex.prompt(script([{"say": "Still here."}]))
    with studio.take("resumed", ARGV) as wire:
        codex = Codex(wire)
        codex.initialize()
        codex.thread_id = thread_id
        codex.request("thread/resume", {"threadId": thread_id})
        codex.prompt(script([{"say": "I remember."}]))
    with studio.take("model-error", ARGV) as wire:
        codex = Codex(wire)
        codex.open(cwd)
        codex.prompt(script([{"status": 400, "message": "scripted bad request"}]))
        codex.prompt(script([{"say": "Better now."}]))
