"""The main job of Operable in one minute: an agent asks, a rule denies, a person approves, a flow runs, the audit verifies.

`./dev demo` runs it. It starts `operable serve` in a throw-away home, with the agent that comes with Operable, a scripted
model in the place of a real one, the example tool (outline), the example app (examples/todo-app) and a flow. It
prints a link to the page and opens nothing; who has no browser answers in the terminal. Without a terminal it answers by
itself. Nothing is written outside of a temporary directory, nothing leaves the machine, and no process is left behind.

  ./dev demo            the main job
  ./dev demo --script   a tour of the commands of one tool
"""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import tour
from daemon_client import DaemonClient, mortal, start_daemon
from show import Show

HERE = Path(__file__).resolve().parent
POLICY = """\
deny = [{ pattern = "execute:rm *", reason = "agents delete nothing" }]
ask = [{ pattern = "execute:outline create *", reason = "a person reads a note before it is kept" }]
allow = ["kind:read", "app/todo-app/add"]
"""
# What the scripted model says and calls: a real one decides this by itself.
MESSAGE = """script:
say I clean up first. Then I write down what we decided.
call Bash {"command": "rm -rf old-notes"}
call Bash {"command": "outline create 'Ship on Friday' --body 'Decided with the team.' --folder decisions"}
say I did what I was allowed to do."""
PATIENCE = 600  # seconds that the demonstration waits for a person; a question ends by itself before that
LIMIT = 60  # seconds for everything that needs no person
_LOOK = 0.2


class Demo:
    """The daemon, what it shows, and who answers: a person in the page or at the terminal, or the demonstration itself."""

    def __init__(self, show: Show, daemon: DaemonClient, *, attended: bool) -> None:
        self.show = show
        self.daemon = daemon
        self.attended = attended

    def run(self) -> None:
        self.session()
        self.flow()
        self.audit()

    def session(self) -> None:
        self.show.chapter(
            "An agent works, and asks",
            "The task of operable-agent: clean up, and take a note. policy.toml says what it may do.",
        )
        body = {
            "adapter": "operable-agent",
            "cwd": self.show.directory,
            "label": "take a note",
            "options": {"provider": "offline"},
            "prompt": MESSAGE,
        }
        session = self.daemon.call("POST", "/sessions/agent", body)["id"]
        seen = 0
        for _ in self._waits("the agent"):
            page = self.daemon.call("GET", f"/sessions/{session}/events?after={seen}")
            for record in page["events"]:
                self._tell(record["event"])
                if record["event"]["type"] == "turn-end":
                    return
            seen = page["last_id"]
            self._answer(session)

    def _tell(self, event: dict[str, Any]) -> None:
        """The events that matter here; the page has all of them."""
        kind = event["type"]
        if kind == "text-delta":
            self.show.line("agent ", event["text"])
        elif kind == "tool-call":
            self.show.line("agent ", f"wants to run  {event['arguments']['command']}")
        elif kind == "tool-result":
            denied = event.get("denied")
            mark, style = ("✗ denied ", "31") if denied else ("✓ done   ", "32")
            self.show.line(mark, str(event["result"]).strip().partition("\n")[0], style)

    def _answer(self, source: str) -> None:
        """If a question of this session or run waits, it gets its answer before this returns."""
        waiting = self._questions(source)
        if not waiting:
            return
        question = waiting[0]
        self.show.line(
            "● asks   ", f"{question.get('command') or question['text']}   ({question['why']})", "33"
        )
        if not self.attended:
            self.show.why("No person is at a terminal here, so the demonstration answers by itself.")
            self.show.run("operable inbox list")
            self.show.run(f"operable inbox answer {question['id']} --allow")
            self._until(lambda: not self._questions(source), "the answer")
            return
        self.show.why("Answer it in the page, or here: y allows it, n denies it.")
        for _ in self._waits("an answer", PATIENCE):
            word = typed()
            if word[:1].lower() in ("y", "n"):
                answer = {"allowed": word[0].lower() == "y", "digest": question["digest"]}
                with contextlib.suppress(DaemonClient.Refused):  # the page was quicker
                    self.daemon.call("POST", f"/approvals/{question['id']}/answer", answer)
            if not self._questions(source):
                break
        known = self.daemon.call("GET", "/approvals?state=answered")["approvals"]
        ended = next((each for each in known if each["id"] == question["id"]), {})
        self.show.line(
            "✓ answer ",
            f"{'allowed' if ended.get('allowed') else 'denied'} by {ended.get('answeredBy')}",
            "32",
        )

    def _questions(self, source: str) -> list[dict[str, Any]]:
        """Those of a run can be answered as soon as a worker has read the files that the approval is for."""
        found = self.daemon.call("GET", "/approvals")["approvals"]
        own = [each for each in found if each["sourceId"] == source]
        return [each for each in own if each["source"] != "run" or each["arguments"] is not None]

    def flow(self) -> None:
        self.show.chapter(
            "A flow runs on the engine",
            "Its first task uses the tool, and waits for an approval. The second uses the app, once that has ended.",
        )
        with self._worker():
            self.show.run("operable flow apply evening.json")
            jobs = {job["taskId"]: job["id"] for job in self.daemon.call("GET", "/flows/evening")["jobs"]}
            run = self.daemon.call("POST", f"/jobs/{jobs['backup']}/trigger", {})["id"]
            self.show.line("● flow   ", "evening/backup was triggered")
            for _ in self._waits("the flow", PATIENCE):
                self._answer(run)
                if self._is_over(run):
                    break
        self.show.run("operable engine runs")
        self.show.run("operable app call todo-app list")

    def _is_over(self, run: str) -> bool:
        """The second task runs only after the first one has succeeded."""
        runs = self.daemon.call("GET", "/runs")["runs"]
        first = next(each for each in runs if each["id"] == run)
        second = next((each for each in runs if each["name"] == "Remind"), None)
        if first["state"] != "succeeded":
            return "endedAt" in first
        return second is not None and "endedAt" in second

    @contextlib.contextmanager
    def _worker(self) -> Iterator[None]:
        worker = subprocess.Popen(
            mortal("operable", "engine", "start", "--output", "jsonl"),
            cwd=self.show.directory,
            env=self.show.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield
        finally:
            end(worker)

    def audit(self) -> None:
        self.show.chapter(
            "Nothing of it is lost, and nothing can be changed unnoticed",
            "Each call was written down before it was made, each record sealed with the one before it.",
        )
        self.show.run("operable audit list")
        self.show.run("operable audit verify", shows="yes")

    def _waits(self, what: str, limit: float = LIMIT) -> Iterator[None]:
        ends = time.monotonic() + limit
        while time.monotonic() < ends:
            yield
            time.sleep(_LOOK)
        self.show.stop(f"{what} did not come within {limit:g} s")

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        for _ in self._waits(what):
            if condition():
                return


def typed() -> str:
    """A line that was typed by now, or nothing."""
    ready, _, _ = select.select([sys.stdin], [], [], 0)
    return sys.stdin.readline().strip() if ready else ""


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def prepare(show: Show) -> None:
    """The tool, the app, the flow and the rules, in the throw-away home."""
    folder = Path(show.directory)
    config = folder / "state" / "config"
    (config / "tools").mkdir(parents=True)
    (config / "policy.toml").write_text(POLICY)
    outline = shutil.which("outline", path=show.environment["PATH"])
    (config / "tools" / "outline").symlink_to(outline or "outline")
    shutil.copytree(
        HERE / "todo-app", folder / "apps" / "todo-app", ignore=shutil.ignore_patterns("state", "__pycache__")
    )
    (folder / "old-notes").mkdir()
    variables = {name: show.environment[name] for name in ("OPERABLE_HOME", "OUTLINE_HOME")}
    shell = {"session_target": "shell"}
    backup = {
        "id": "backup",
        "name": "Back up",
        "target": shell,
        "shell": {"program": "outline", "args": ["export", "--output", "jsonl"], "env": variables},
        "schedule": {"cron": "0 18 * * *"},
        "approval": {"policy": "manual"},
    }
    remind = {
        "id": "remind",
        "name": "Remind",
        "target": shell,
        "shell": {
            "program": "operable",
            "args": ["app", "call", "todo-app", "add", "--", "Try the backup"],
            "env": variables,
            "cwd": show.directory,
        },
        "trigger": {"parent": "backup", "on": "success"},
    }
    flow = {"version": "0.2", "workflows": [{"id": "evening", "name": "Evening", "tasks": [backup, remind]}]}
    (folder / "evening.json").write_text(json.dumps(flow, indent=2))
    subprocess.run(
        ["operable", "app", "approve", "todo-app"],
        cwd=folder,
        env=show.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LIMIT,
        check=True,
    )


def interrupted(signal_number: int, _frame: object) -> NoReturn:
    raise SystemExit(128 + signal_number)


def main() -> None:
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # a terminal that is not UTF-8
    if "--script" in sys.argv[1:]:
        tour.main()
        return
    attended = sys.stdin is not None and sys.stdin.isatty()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, interrupted)
    print("Operable: one contract between agents, tools, applications and flows.")
    print("All of it runs now, offline, in a folder that is thrown away at the end.")
    with tempfile.TemporaryDirectory(prefix="operable-demo-", ignore_cleanup_errors=True) as directory:
        show = Show(directory)
        os.environ["PATH"] = show.environment["PATH"]
        began = time.monotonic()
        show.line("…", "a home with rules, the example tool, app and flow")
        prepare(show)
        show.line("…", "operable serve")
        with start_daemon(show.directory, show.environment) as daemon:
            show.line("✓", f"ready after {time.monotonic() - began:.1f} s", "32")
            link = daemon.call("POST", "/logins", {})["url"]
            show.why("The page shows all that follows. The link logs one browser in, once:")
            show.line(" ", link, "1")
            Demo(show, daemon, attended=attended).run()
            if attended:
                show.why(
                    "That was it. The page stays until you press Enter; try the keys i, s, f, c and ? there."
                )
                sys.stdin.readline()
    print(
        "\nNothing is left of it. Next: docs/guides/serve.md, and ./dev demo --script for what a tool can do."
    )


if __name__ == "__main__":
    main()
