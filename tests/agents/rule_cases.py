"""Rules that were seen to be passed by a real agent, each as it was seen, and what they mean.

The matrix tries every form of a rule on every agent; these are the single sessions that were the reason for it.
"""

from dataclasses import dataclass, field
from typing import Any

from operable.host import Policy, rules
from operable.kernel.errors import Fail
from tests.agents.rule_cells import DENIED, PASSED, RAN, REFUSED
from tests.agents.rule_scene import Scene


@dataclass(frozen=True)
class Case:
    """One session and one turn of it. `made` and `gone` are the files by which one sees that the last call was carried out."""

    row: str
    told: str
    """the rules, as options of `operable agent prompt`"""
    policy: Policy
    calls: tuple[tuple[str, dict[str, str]], ...]
    """role -> arguments; a path is below the workspace"""
    made: str = ""
    gone: str = ""
    means: str = DENIED
    mode: str = ""
    files: tuple[str, ...] = field(default=())

    @property
    def key(self) -> str:
        return f"{self.told} · {self.calls[-1][1].get('command') or self.calls[-1][1]['path']}"


def _write(path: str) -> tuple[str, dict[str, str]]:
    return "write", {"path": path, "text": "made\n"}


def _shell(command: str) -> tuple[str, dict[str, str]]:
    return "shell", {"command": command}


ALL_BUT_EDITS = rules(allow=["*"], deny=["edit:**"])
ALL_BUT_RM = rules(allow=["*"], deny=["execute:rm *"])
ALL_BUT_ECHO = rules(allow=["*"], deny=["execute:echo *"])
ONLY_EDITS = rules(allow=["edit:**"])
EDITS_BY_KIND = rules(allow=["kind:edit"])
ALL_BUT_ENV = rules(allow=["edit:.env.example"], deny=["edit:.env"])
_ECHO = (_shell("echo hi > made.txt"),)
_ENV = (_write(".env.example"), _write(".env"))

CASES = (
    Case("codex", "--allow '*' --deny 'edit:**'", ALL_BUT_EDITS, (_write("made.txt"),), made="made.txt"),
    *(
        Case(row, "--allow '*' --deny 'execute:rm *'", ALL_BUT_RM, (_shell("rm gone.txt"),), gone="gone.txt")
        for row in ("gemini", "goose")
    ),
    *(
        Case(row, "--allow '*' --deny 'execute:echo *'", ALL_BUT_ECHO, _ECHO, made="made.txt")
        for row in ("codex-app-server", "kimi-code")
    ),
    *(
        Case(row, "--allow 'edit:**'", ONLY_EDITS, (_write("made.txt"),), made="made.txt", means=RAN)
        for row in ("codex", "kimi-code")
    ),
    *(
        Case(row, "--allow edit:.env.example --deny edit:.env", ALL_BUT_ENV, _ENV, made=".env")
        for row in ("goose-client-methods", "kimi-code-client-methods")
    ),
    *(
        Case(
            row,
            f"--mode {mode} --allow kind:edit",
            EDITS_BY_KIND,
            calls,
            made="made.txt",
            means=means,
            mode=mode,
        )
        for row, mode in (
            ("claude-code", "accept-edits"),
            ("gemini", "auto-edit"),
            ("operable-agent", "auto-edit"),
        )
        for calls, means in (((_write("made.txt"),), RAN), ((_shell("touch made.txt"),), DENIED))
    ),
)


async def tried(case: Case, scene: Scene) -> str:
    """What became of the last call of the case."""
    if case.gone:
        (scene.work / case.gone).write_text("there\n")
    replies: list[list[dict[str, Any]]] = []
    for role, arguments in case.calls:
        given = (
            {**arguments, "path": str(scene.work / arguments["path"])} if "path" in arguments else arguments
        )
        replies.append([{"call": role, "args": given}])
    try:
        async with scene.started(case.policy, case.mode) as session:
            await scene.turn(session, *replies, [{"say": "That was it."}])
    except Fail as failure:
        if failure.code != "AGENT_NEVER_ASKS":
            raise
        return REFUSED
    happened = (scene.work / case.made).exists() if case.made else not (scene.work / case.gone).exists()
    if case.means == RAN:
        return RAN if happened else DENIED
    return PASSED if happened else DENIED
