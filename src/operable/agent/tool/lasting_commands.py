"""The command lines that a yes for the rest of a session covers, and how that is said to the person who is asked.

A line that begins with a known command (`_FORMS`) is covered by a rule of the language of `operable.toml`: `git status -s`
by `execute:git status *`, and by the same command without arguments. Of every other line, only exactly this one is covered.
The rules decide as they do everywhere: no `;`, `&&`, substitution or other program.

The words behind a known beginning are arguments of the command, and not another program. A shell, an interpreter, a wrapper
(`env`, `sudo`, `xargs`) and every program that is not known has none; neither has a line with more than one command, with
variables, redirections or substitutions.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from operable.agent.tool.ability import Ability
from operable.agent.tool.call_rules import TOOLS, facts_of
from operable.gate.policy.pattern import ALLOW, ASK
from operable.gate.policy.rules import Policy, PolicyRule

if TYPE_CHECKING:
    from operable.gate.policy.shell.grammar import ShellWord

_NAME: Final = "NAME"  # in a form: a word that the project gave a task
_WORD: Final = re.compile(r"[A-Za-z0-9][\w.:-]*")
# One beginning in a line, with `|` between words of which each fits in one place.
_FORMS: Final = """
ls|dir|cat|tac|head|tail|nl|od|hexdump|strings|wc|cut|paste|comm|fold|column|expand
grep|egrep|fgrep|rg|ag|jq|diff|cmp|stat|file|du|df|readlink|realpath|basename|dirname
pwd|echo|uname|whoami|id|nproc|free|uptime|ps|pgrep|lsof|which|whereis|mkdir|touch|man
pytest|black|isort|flake8|mypy|pylint|tsc|eslint|prettier|jest|vitest|rustfmt|gofmt
python|python3 -m pytest|ruff|black|isort|flake8
ruff check|format
git add|blame|branch|cat-file|check-ignore|checkout|cherry|cherry-pick|commit|count-objects|describe|diff|diff-index
git diff-tree|fetch|for-each-ref|fsck|grep|init|log|ls-files|ls-remote|ls-tree|merge|merge-base|mv|name-rev|notes
git pull|push|range-diff|rebase|reflog|restore|rev-list|rev-parse|revert|shortlog|show|show-branch|show-ref|stash
git status|switch|tag|whatchanged|worktree
npm|pnpm|yarn test|ls|list|outdated|audit|view|why
npm|pnpm|yarn run NAME
make NAME
ninja NAME
cargo build|check|test|clippy|fmt|doc|tree|metadata|bench
go build|test|vet|list|version|doc
go mod tidy|download|verify|graph|why
pip|pip3 list|show|freeze|check
gh pr|issue|run|repo|release view|list|status|diff|checks
docker ps|images|logs|inspect|version|info
terraform validate|fmt|show
apt list|show|search|policy
"""
_NO_MATTER = frozenset({"timeout"})  # of the arguments of a call: how long it may take


def is_command(ability: Ability) -> bool:
    """Whether calls of this tool are command lines."""
    return ability.server is None and bool(TOOLS.use_of(ability.name).command)


def command_scope(arguments: Mapping[str, Any]) -> str:
    """What a lasting yes to this call would cover, in words."""
    prefix = _prefix(arguments)
    return f"execute:{prefix} * (with any arguments, or none)" if prefix else "exactly this command line"


class LastingCommands:
    """What was allowed for the session."""

    def __init__(self) -> None:
        self._exact: set[str] = set()
        self._rules: dict[str, PolicyRule] = {}

    def add(self, arguments: Mapping[str, Any]) -> None:
        self._exact.add(_exactly(arguments))
        if prefix := _prefix(arguments):
            for pattern in (f"execute:{prefix}", f"execute:{prefix} *"):
                self._rules[pattern] = PolicyRule(ALLOW, pattern)

    def covers(self, ability: Ability, arguments: Mapping[str, Any], workspace: str) -> bool:
        if not self._exact:
            return False
        if _exactly(arguments) in self._exact:
            return True
        facts = facts_of(ability, arguments, workspace)
        ruling = Policy(tuple(self._rules.values()), ASK).judge(facts)
        return ruling.effect == ALLOW and all(map(runs_only_itself, facts.command.stated))


def _prefix(arguments: Mapping[str, Any]) -> str:
    line = arguments.get("command")
    is_whole = isinstance(line, str) and arguments.keys() - _NO_MATTER == {"command"}
    return command_prefix(line) if is_whole and isinstance(line, str) else ""


def _exactly(arguments: Mapping[str, Any]) -> str:
    # As text: what a model sends may have lone surrogates, which canonical JSON refuses.
    counting = {name: value for name, value in arguments.items() if name not in _NO_MATTER}
    return json.dumps(counting, sort_keys=True)


def command_prefix(line: str) -> str:
    """The words of the line that say what it does; empty: no words do, or they would cover other commands."""
    words = _plain_words(line)
    fitting = [form for form in _forms() if _fits(form, words)]
    if not fitting or not runs_only_itself(line):
        return ""
    return " ".join(words[: max(map(len, fitting))])


def runs_only_itself(line: str) -> bool:
    """Whether the line surely runs only the programs that it names, and names no file for output (`--output`)."""
    from operable.gate.policy.shell.command_line import commands_in
    from operable.gate.policy.shell.grammar import read

    if (None,) in commands_in(line, guesses=False):  # something that the line does not show
        return False
    return not any(map(_may_name_output, (word for command in read(line) for word in command.words)))


def _may_name_output(word: "ShellWord") -> bool:
    """Whether it is `--output`, which git also takes abbreviated, or may become that: the name of a file, say."""
    if word.text is None:
        return word.pieces[0] is None or word.raw.startswith("-")
    name = word.text.partition("=")[0]
    return name.startswith("--o") and "--output".startswith(name)


def _plain_words(line: str) -> list[str]:
    """The words of a line that is one simple command without anything around it, up to the first that has quotes."""
    from operable.gate.policy.shell.grammar import UnreadableError, read

    try:
        commands = read(line)
    except UnreadableError:
        return []
    if len(commands) != 1 or commands[0].names or commands[0].settings or commands[0].redirections:
        return []
    words: list[str] = []
    for word in commands[0].words:
        if word.text != word.raw:
            break
        words.append(word.raw)
    return words if line.startswith(" ".join(words)) else []


def _fits(form: Sequence[Sequence[str]], words: Sequence[str]) -> bool:
    if len(words) < len(form):
        return False
    return all(
        word in choices or (_NAME in choices and _WORD.fullmatch(word))
        for choices, word in zip(form, words, strict=False)
    )


@cache
def _forms() -> tuple[tuple[tuple[str, ...], ...], ...]:
    return tuple(
        tuple(tuple(word.split("|")) for word in form.split()) for form in _FORMS.strip().split("\n")
    )
