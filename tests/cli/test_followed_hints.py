"""Every command in a hint, run in the situation in which the hint is given.

`sites` finds in the source each file that names a command of ours in a text. Each is followed by a situation below, or says in
`NOT_FOLLOWED` why it is not: a new one fails here until it is one or the other. A situation makes the failure for real,
takes the command out of the hint as it stands there, and runs it in the same place. It must succeed, or lead on: what it
answers is what the hint promises, and never that the command line is wrong.
"""

import ast
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import operable as package
from operable.host.session.registry import Registry, SessionMeta
from tests.app.making import made
from tests.cli.drive import operable, running
from tests.cli.test_hints import LINE, NOT_LINES, PACKAGES, SOURCE, _texts
from tests.tool.drive import Outcome

SITUATIONS: dict[str, list[Callable[["Place"], None]]] = {}
# Texts that name a command and do not tell a person to run it now.
NO_HINTS = {
    "cli/catalog/mcp.py: mcp": "says what runs",
    "cli/engine/run_log.py: engine gc": "says what has removed a timeline",
    "cli/engine/service.py: engine start": "says what runs",
    "cli/serve/service.py: serve": "says what runs",
    "cli/gate/command_line.py: inbox list": "says where a question is answered, while its call waits",
    "agent/people.py: chat                            the same agent at the terminal": "help of operable-agent",
    "serve/http/openapi.py: serve": "the title of a document",
    "wrap/front.py: wrap shim {name}": "a comment in a generated file",
    "serve/sources/agent.py: agent install FILLED": "the problem of an entry of the catalog, as in agent doctor",
}
_RACE = (
    "needs another process between two steps of one command; the tests of that module make it by calling it"
)
_AGENT = "needs an agent that fails in a certain way; the tests of the host have those"
_WORKER = "needs a worker and a question that it asks; tests/engine/worker"
_HTTP = "an answer of the daemon over HTTP or MCP; tests/serve"
_PROGRAM = "needs the wrapped program in that state; the tests of the wrapper"
NOT_FOLLOWED = {
    "cli/agent/approvals.py: agent adapters": _RACE,
    "cli/agent/conversation.py: agent doctor FILLED": _AGENT,
    "cli/agent/conversation.py: agent login FILLED": _AGENT,
    "cli/agent/login_key.py: agent login FILLED": "needs an agent whose key no variable takes; tests/cli/commands/agent",
    "cli/agent/partner.py: agent answer FILLED FILLED --allow": _AGENT,
    "cli/agent/readiness.py: agent setup FILLED": _AGENT,
    "cli/call/verdicts.py: check FILE": "is given at a terminal alone, with a placeholder",
    "cli/call/verdicts.py: check": "is given at a terminal alone",
    "cli/engine/decisions.py: engine approve FILLED": _WORKER,
    "cli/engine/decisions.py: engine reject FILLED": _WORKER,
    "cli/engine/people.py: engine runs --state asking": _WORKER,
    "cli/flow/catalog_method.py: catalog": "an answer of JSON-RPC; tests/flow/rpc",
    "engine/store/database.py: engine start": "needs a store of an older version; tests/engine/store/test_migrations.py",
    "engine/store/questions.py: engine start": _WORKER,
    "engine/store/questions.py: engine approve FILLED --dry-run": _WORKER,
    "engine/store/questions.py: engine retry FILLED": _WORKER,
    "engine/store/queue.py: engine start --queue FILLED --move-queue": "needs two backends; tests/engine/store",
    "engine/worker/worker.py: engine start": _WORKER,
    "app/usage.py: app schedules FILLED": "needs an application with a scheduler of its own; tests/app/test_usage.py",
    "app/shelf.py: app add SOURCE": "a placeholder; tests/app/test_installation.py",
    "app/shelf.py: init app NAME": "a placeholder; tests/cli/commands/init",
    "gate/approvals.py: agent approvals": _RACE,
    "gate/call_gate.py: inbox list": _RACE,
    "host/upstream/registration.py: upstream add FILLED …": "a placeholder; tests/serve/upstream",
    "gate/audit/chain.py: agent audit verify": "is given to a session that begins over a damaged chain; tests/gate/audit",
    "gate/call_queue.py: inbox list": _RACE,
    "agent/people.py: chat": "is given by operable-agent, which no fork runs; tests/agent/test_people.py",
    "agent/tool/hooks.py: config approve": "is given to a model; tests/agent/tool",
    "agent/tool/offers.py: lint FILLED": "is given by operable-agent; tests/agent/tool/test_offers.py",
    "host/launch/doctor.py: agent login FILLED": _AGENT,
    "host/launch/doctor.py: agent setup FILLED": _AGENT,
    "host/launch/readiness.py: agent install FILLED": "an installation asks a registry, which no test reaches; tests/host/launch",
    "host/launch/login/auth.py: agent login FILLED": _AGENT,
    "host/launch/setup.py: agent setup FILLED": _AGENT,
    "host/session/link.py: agent doctor FILLED": _AGENT,
    "host/session/link.py: agent login FILLED": _AGENT,
    "host/start/adapters.py: agent approve FILLED --adapter": "needs an adapter of another distribution; docs/guides/adapt-an-agent.md",
    "host/start/adapters.py: agent approve ADAPTER --adapter": "a placeholder; docs/guides/adapt-an-agent.md",
    "host/start/choices.py: agent show FILLED": "tests/host/test_agent_cli.py follows what it says first",
    "serve/approvals.py: engine approve FILLED": _HTTP,
    "serve/catalog_call.py: catalog": _HTTP,
    "serve/flow_view.py: flow apply": _HTTP,
    "serve/http/access/browser.py: serve --link": _HTTP,
    "serve/http/caller.py: serve": _HTTP,
    "serve/mcp_tools.py: mcp --allow-destructive": _HTTP,
    "serve/session/tools.py: inbox list": _HTTP,
    "serve/toolset.py: catalog": _HTTP,
    "host/upstream/connection.py: upstream add FILLED …": "a placeholder; tests/serve/upstream",
    "wrap/wrappers/gh/rest.py: wrap gh api ENDPOINT": _PROGRAM,
    "wrap/wrappers/git/integration.py: wrap git commit MESSAGE": _PROGRAM,
    "wrap/wrappers/git/integration.py: wrap git merge-abort --confirm": _PROGRAM,
    "wrap/wrappers/git/integration.py: wrap git rebase --continue": "git itself asks for it",
    "wrap/wrappers/git/integration.py: wrap git rebase-abort --confirm": _PROGRAM,
    "wrap/wrappers/git/remotes.py: wrap git pull origin main": _PROGRAM,
    "wrap/wrappers/git/remotes.py: wrap git merge-abort --confirm": _PROGRAM,
    "wrap/wrappers/git/remotes.py: wrap git rebase-abort --confirm": _PROGRAM,
    "wrap/wrappers/git/checkout.py: wrap git switch --create NAME --start origin/NAME": _PROGRAM,
    "wrap/wrappers/mypy/parser.py: wrap mypy check-with-plugins": _PROGRAM,
    "wrap/wrappers/psql/parser.py: wrap psql execute SQL": _PROGRAM,
    "wrap/wrappers/tar/parser.py: wrap tar list ARCHIVE": _PROGRAM,
}


# The command in a hint, as a person reads it: it ends where the sentence goes on.
_COMMAND = re.compile(r"(?:^|(?<=[\s`]))operable ([a-z].*?)(?=$|\?$|[,;]\s|`)")


@cache
def sites() -> set[str]:
    """FILE: COMMAND LINE of every text in the source that names a command of ours."""
    found = set()
    for root in PACKAGES:
        for path in (SOURCE / root).rglob("*.py"):
            for text in _texts(ast.parse(path.read_text())):
                lines = {line.strip() for line in LINE.findall(text)} - NOT_LINES
                found |= {f"{path.relative_to(SOURCE)}: {line}" for line in lines}
    return found


def of(*named: str) -> Callable[[Callable[["Place"], None]], Callable[["Place"], None]]:
    """Decorator: a situation that follows the hints of these sites."""

    def register(situation: Callable[["Place"], None]) -> Callable[["Place"], None]:
        for site in named:
            SITUATIONS.setdefault(site, []).append(situation)
        return situation

    return register


class Place:
    """A project and a home, and a person who types and does what hints say."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = folder / "a project"  # its name has a space: a line has to quote it
        (self.project / ".git").mkdir(parents=True)
        self.env = {"OPERABLE_HOME": str(self.home)}

    def __call__(self, *words: str) -> Outcome:
        verb, *rest = map(str, words)
        return operable(verb, *rest, cwd=self.project, env=self.env)

    def hint(self, *words: str, code: str) -> str:
        """The hint of a command that fails with this code."""
        done = self(*words)
        assert done.error["code"] == code, done
        return str(done.error["hint"])

    def warning(self, *words: str, code: str) -> dict[str, Any]:
        done = self(*words)
        assert done.exit_code == 0, done
        return next(event for event in done.of("aoi:warning") if event["code"] == code)

    def follow(self, hint: str, *more: str, status: int = 0, code: str | None = None) -> Outcome:
        """Run the command of a hint; `more` is what the person adds, such as a confirmation."""
        ended = [self(*shlex.split(line), *more) for line in _COMMAND.findall(hint)]
        for done in ended:
            assert done.exit_code == status, (hint, done.of("aoi:error"))
        if code is not None:
            assert ended[-1].error["code"] == code
        return ended[-1]

    def session(self) -> str:
        Registry(str(self.home / "state" / "agents")).create(
            SessionMeta("ses_one", "goose", "p-0123456789", str(self.project))
        )
        return "ses_one"

    def manifest(self, **task: Any) -> str:
        """A manifest of one task, with more in it."""
        assert self("flow", "init", "--confirm").exit_code == 0
        path = self.project / "workflow.json"
        document = json.loads(path.read_text())
        document["workflows"][0]["tasks"][0] |= task
        path.write_text(json.dumps(document))
        return path.name

    def git(self, *words: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=A", "-c", "user.email=a@b", *words],
            cwd=self.project,
            check=True,
            capture_output=True,
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_every_hint_is_followed_or_says_why_not():
    named = {*SITUATIONS, *NOT_FOLLOWED, *NO_HINTS}

    assert sites() - named == set(), "write a situation below, or say in NOT_FOLLOWED why there is none"
    assert named - sites() == set(), "no text says this any more"
    assert set(SITUATIONS) & {*NOT_FOLLOWED, *NO_HINTS} == set()


@of("cli/agent/approvals.py: agent approvals")
def no_such_question(place: Place) -> None:
    place.follow(
        place.hint("agent", "answer", place.session(), "ask_none", "--allow", "--confirm", code="NO_SUCH_ASK")
    )


@of("cli/agent/logs.py: agent audit verify")
def a_damaged_audit(place: Place) -> None:
    path = Registry(str(place.home / "state" / "agents")).audit_path(str(place.project))
    Path(path).parent.mkdir(parents=True)
    Path(path).write_text("nonsense\n")
    done = place.follow(place.hint("agent", "audit", code="AUDIT_DAMAGED"), status=65)
    assert done.of("audit_problem") or done.results


@of("cli/catalog/mcp.py: catalog FILLED", "serve/sources/app.py: app approve FILLEDFILLED")
def an_application_that_cannot_be_served(place: Place) -> None:
    made(place.project / "apps" / "one")
    shown = place.follow(place.hint("mcp", "--only", "one", code="NOT_SERVABLE"))
    entry = next(each for each in shown.results if each["name"] == "one")
    place.follow(entry["problem"].partition(",")[0], "--confirm")


@of("cli/commands/agent/chat.py: agent prompt FILLED --prompt TEXT")
def a_chat_without_a_terminal(place: Place) -> None:
    place.follow(
        place.hint("agent", "chat", "goose", code="INTERACTIVE_REQUIRED"),
        status=65,
        code="AGENT_NOT_INSTALLED",
    )


@of("cli/commands/pipe.py: pipe -- TOOL A FILLED TOOL B")
def a_pipeline_of_one(place: Place) -> None:
    hint = place.hint("pipe", "--", "outline", "list", code="INVALID_PIPELINE")
    line = hint.removeprefix("operable ").replace("TOOL A", "outline list").replace("TOOL B", "outline list")
    words = line.split()
    assert place(*words).exit_code != 64


@of("cli/config/project.py: config show")
def a_configuration_that_is_another(place: Place) -> None:
    (place.project / "operable.toml").write_text('[rules]\ndeny = ["execute:rm *"]\n')
    wrong = "sha256:" + "0" * 64
    place.follow(place.hint("config", "approve", "--digest", wrong, code="DIGEST_MISMATCH"))


@of("cli/engine/views.py: engine start", "cli/engine/people.py: engine start")
def a_run_that_no_worker_takes(place: Place) -> None:
    path = place.manifest()
    assert place("flow", "apply", path, "--confirm").exit_code == 0
    said = place.warning("engine", "trigger", "default/run", "--confirm", code="NO_WORKER")
    (line,) = LINE.findall(said["message"])
    assert line in operable("engine", "status", output=None, cwd=place.project, env=place.env).stdout.decode()
    with running(*line.split(), cwd=place.project, env=place.env) as worker:
        worker.event("engine_worker_started")


@of("cli/explanations.py: explain FILLED?", "cli/explanations.py: explain lists the checks")
def a_word_that_is_not_known(place: Place) -> None:
    assert place.follow(place.hint("explain", "EXTRA_MISING", code="UNKNOWN_WORD")).results
    assert place.hint("explain", "qqqqqqq", code="UNKNOWN_WORD") == "operable explain lists the checks"
    assert place("explain").results


@of("cli/flow/approvals.py: flow approvals", "flow/operations/approvals_revoke.py: flow approvals")
def an_approval_that_is_not_there(place: Place) -> None:
    place.follow(place.hint("flow", "revoke", "0" * 32, "--confirm", code="APPROVAL_NOT_FOUND"))


@of("cli/flow/backends.py: flow prune FILLED --dry-run")
def a_job_that_left_its_manifest(place: Place) -> None:
    path = place.project / place.manifest()
    document = json.loads(path.read_text())
    tasks = document["workflows"][0]["tasks"]
    tasks.append(tasks[0] | {"id": "second", "name": "second"})
    path.write_text(json.dumps(document))
    assert place("flow", "apply", path.name, "--confirm").exit_code == 0
    tasks.pop()
    path.write_text(json.dumps(document))
    place.follow(place.warning("flow", "apply", path.name, "--confirm", code="JOBS_LEFT")["hint"])


@of("cli/flow/input.py: flow init")
def a_manifest_that_is_not_there(place: Place) -> None:
    place.follow(place.hint("flow", "validate", "workflow.json", code="MANIFEST_UNREADABLE"))
    assert place("flow", "validate", "workflow.json").exit_code == 0


@of("cli/flow/input.py: flow validate FILLED")
def a_manifest_with_a_mistake(place: Place) -> None:
    path = place.manifest(shell={"program": 3})
    done = place.follow(place.hint("flow", "plan", path, code="MANIFEST_INVALID"), status=65)
    assert "program" in repr(done.stdout)


@of("cli/flow/input.py: flow approve FILLED FILLED", "cli/flow/approvals.py: flow approve FILLED FILLED")
def a_task_that_needs_an_approval(place: Place) -> None:
    path = place.manifest(approval={"required": True})
    hint = place.hint("flow", "exec", path, "run", "--confirm", code="FLOW_REFUSED")
    place.follow(hint, "--confirm")
    assert place("flow", "exec", path, "run", "--confirm").exit_code == 0


@of("cli/flow/registry.py: flow registry")
def a_manifest_that_is_not_registered(place: Place) -> None:
    place.follow(place.hint("flow", "unregister", "nothing", "--confirm", code="MANIFEST_NOT_REGISTERED"))


@of("cli/gate/inbox.py: inbox list")
def a_question_that_nobody_asked(place: Place) -> None:
    place.follow(place.hint("inbox", "answer", "call_none", "--allow", "--confirm", code="NO_SUCH_ASK"))


@of("host/upstream/registration.py: upstream list")
def a_server_that_is_not_there(place: Place) -> None:
    place.follow(place.hint("upstream", "remove", "nothing", "--confirm", code="NO_SUCH_UPSTREAM"))


@of("host/upstream/registration.py: upstream add --help")
def a_server_that_cannot_be_called_so(place: Place) -> None:
    hint = place.hint("upstream", "add", "a name", "--confirm", "--", "true", code="UPSTREAM_INVALID")
    (line,) = LINE.findall(hint)
    assert operable(*line.split(), output=None, cwd=place.project, env=place.env).exit_code == 0


@of("app/admission.py: app call FILLED --confirm -- FILLED", "app/trust.py: app approve FILLED")
def an_application_that_nobody_approved(place: Place) -> None:
    made(place.project / "apps" / "one")
    place.follow(place.hint("app", "call", "one", "--", "list", code="APP_NOT_APPROVED"), "--confirm")
    hint = place.hint("app", "call", "one", "--", "remove", "a b", code="CONFIRMATION_REQUIRED")
    assert place(*shlex.split(hint.partition("then: operable ")[2])).exit_code == 0


@of("app/trust.py: app approve FILLED --shell")
def an_application_that_is_a_line_of_a_shell(place: Place) -> None:
    made(place.project / "apps" / "one", entry="echo {} | cat")
    place.follow(place.hint("app", "call", "one", "--", "list", code="APP_NOT_APPROVED"), "--confirm")


@of("app/packages.py: app validate FILLED")
def an_application_with_a_mistake(place: Place) -> None:
    root = made(place.project / "apps" / "one", more="confirmationRequired: 3")
    assert root.is_dir()
    place.follow(place.hint("app", "call", "one", "--", "list", code="APP_INVALID"), status=65)


@of("app/installation.py: app validate FOLDER")
def an_application_that_cannot_be_added(place: Place) -> None:
    made(place.project / "elsewhere", more="confirmationRequired: 3")
    hint = place.hint("app", "add", "elsewhere", "--confirm", code="APP_INVALID")
    (line,) = LINE.findall(hint)
    assert place(*shlex.split(line.replace("FOLDER", "elsewhere"))).exit_code == 65


@of("host/launch/installation.py: agent validate FOLDER")
def an_agent_that_cannot_be_added(place: Place) -> None:
    (place.project / "elsewhere").mkdir()
    (place.project / "elsewhere" / "AGENT-CLI.md").write_text("---\nname: x\n---\n")
    hint = place.hint("agent", "add", "elsewhere", "--confirm", code="AGENT_INVALID")
    (line,) = LINE.findall(hint)
    assert place(*shlex.split(line.replace("FOLDER", "elsewhere"))).exit_code == 65


@of("engine/store/queries.py: engine runs")
def a_run_that_is_not_there(place: Place) -> None:
    place.follow(place.hint("engine", "logs", "run_none", code="RUN_NOT_FOUND"))


@of("engine/worker/definitions.py: engine jobs")
def a_job_that_is_not_there(place: Place) -> None:
    place.follow(place.hint("engine", "trigger", "nothing", "--confirm", code="JOB_NOT_FOUND"))


@of("flow/audit/log.py: flow audit verify --home FILLED")
def an_audit_of_flows_that_was_damaged(place: Place) -> None:
    path = place.manifest()
    assert place("flow", "exec", path, "run", "--confirm").exit_code == 0
    chain = next(place.home.rglob("audit.ndjson"))
    chain.write_text("nonsense\n")
    done = place("flow", "exec", path, "run", "--confirm")
    place.follow(done.error["hint"], status=65)


@of("gate/call_gate.py: policy test --caller FILLED FILLED", "gate/call_gate.py: policy check")
def a_call_that_a_rule_denies(place: Place) -> None:
    made(place.project / "apps" / "one")
    assert place("app", "approve", "one", "--confirm").exit_code == 0
    rules = place.home / "config" / "policy.toml"
    rules.parent.mkdir(parents=True, exist_ok=True)
    rules.write_text('deny = ["app/one/list"]\n')
    place.follow(place.hint("app", "call", "one", "--", "list", code="CALL_DENIED"))
    rules.write_text("deny = 3\n")
    place.follow(place.hint("app", "call", "one", "--", "list", code="POLICY_UNUSABLE"), status=65)


@of("host/session/registry.py: agent sessions")
def a_session_that_is_not_there(place: Place) -> None:
    place.follow(place.hint("agent", "logs", "ses_none", code="NO_SUCH_SESSION"))


@of("host/launch/trust.py: agent approve FILLED")
def an_agent_of_the_project(place: Place) -> None:
    bundled = Path(package.__file__).parent / "host" / "agents" / "goose"
    folder = place.project / ".agents" / "mine"
    shutil.copytree(bundled, folder)
    (folder / "AGENT-CLI.md").write_text(
        (folder / "AGENT-CLI.md").read_text().replace("name: goose", "name: mine", 1)
    )
    hint = place.hint("agent", "prompt", "mine", "--prompt", "x", code="MANIFEST_NOT_APPROVED")
    place.follow(hint, "--confirm")
    assert place("agent", "prompt", "mine", "--prompt", "x").error["code"] == "AGENT_NOT_INSTALLED"


@of("host/launch/doctor.py: agent install FILLED")
def an_agent_that_is_not_installed(place: Place) -> None:
    done = place("agent", "doctor", "goose")
    hint = next(
        event["hint"] for event in done.events if "operable agent install" in (event.get("hint") or "")
    )
    place.follow(hint, "--dry-run")


@of("wrap/places.py: wrap show FILLED", "wrap/doctor.py: wrap shim FILLED")
def a_wrapper_with_a_mistake(place: Place) -> None:
    folder = place.home / "config" / "wrappers" / "broken"
    folder.mkdir(parents=True)
    (folder / "CLI.md").write_text("---\nname: broken\nnonsense: [\n---\n")
    place.follow(
        place.hint("wrap", "show", "broken", code="WRAPPER_INVALID"), status=78, code="WRAPPER_INVALID"
    )
    assert place("wrap", "shim", "git").exit_code == 0


@of("wrap/plan/cache.py: wrap remove FILLED")
def a_wrapper_that_was_changed(place: Place) -> None:
    bundled = Path(package.__file__).parent / "wrap" / "wrappers" / "echo"
    source = bundled if bundled.is_dir() else bundled.with_name("cat")
    shutil.copytree(source, place.project / "mine")
    cli = place.project / "mine" / "CLI.md"
    cli.write_text(cli.read_text().replace(f"name: {source.name}", "name: mine", 1))
    assert place("wrap", "add", "mine", "--confirm").exit_code == 0, place("wrap", "add", "mine", "--confirm")
    (kept,) = place.home.rglob("mine/CLI.md")
    kept.write_text(kept.read_text() + "\n")
    place.follow(place.hint("wrap", "show", "mine", code="WRAPPER_CHANGED"), "--confirm")


@of("tool/discovery/commands.py: wrap shim FILLED")
def the_completion_of_a_wrapped_tool(place: Place) -> None:
    place.follow(place.hint("wrap", "git", "completion", "bash", code="NOT_A_PROGRAM"))


@of("wrap/wrappers/git/stashes.py: wrap git stash list", "wrap/wrappers/git/state.py: wrap git branch",
    "wrap/wrappers/git/state.py: wrap git tag", "wrap/wrappers/git/worktrees.py: wrap git worktree list")  # fmt: skip
def what_git_does_not_have(place: Place) -> None:
    (place.project / ".git").rmdir()
    place.git("init", "-q")
    place.git("commit", "-q", "--allow-empty", "-m", "first")
    for words in (["stash", "pop", "9"], ["merge", "nothing"], ["worktree", "remove", "nothing"]):
        done = place("wrap", "git", *words, "--confirm")
        assert done.exit_code not in (0, 64), done
        place.follow(done.error["hint"])


@of("wrap/wrappers/cat/parser.py: wrap ls list .")
def a_folder_that_is_read(place: Place) -> None:
    done = place("wrap", "cat", "lines", ".")
    place.follow(done.error["hint"])


@of("host/launch/trust.py: agent remove FILLED")
def an_agent_that_was_changed_since_it_was_added(place: Place) -> None:
    bundled = Path(package.__file__).parent / "host" / "agents" / "goose"
    shutil.copytree(bundled, place.project / "mine")
    path = place.project / "mine" / "AGENT-CLI.md"
    path.write_text(path.read_text().replace("name: goose", "name: mine", 1))
    assert place("agent", "add", "mine", "--confirm").exit_code == 0
    kept = next(place.home.rglob("mine/AGENT-CLI.md"))
    kept.write_text(kept.read_text() + "\n")
    place.follow(place.hint("agent", "prompt", "mine", "--prompt", "x", code="MANIFEST_CHANGED"), "--confirm")


@of("cli/catalog/call.py: catalog")
def a_call_of_nothing(place: Place) -> None:
    place.follow(place.hint("call", "nonsense", "--confirm", code="CALL_NAME_INVALID"))


@pytest.mark.parametrize(
    "situation",
    list(dict.fromkeys(each for found in SITUATIONS.values() for each in found)),
    ids=lambda each: each.__name__,
)
def test_a_hint_leads_on(situation, place):
    situation(place)
