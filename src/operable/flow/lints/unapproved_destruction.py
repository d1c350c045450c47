"""A shell that destroys something without an approval.

Looks at programs, at scripts that are given to a shell, and at `verify`. An approval with the policy `manual` (or
`auto-reject`) is what it asks for; `auto-approve` asks no person. It knows common destructive commands and cannot know all:
silence does not prove that it is harmless.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from operable.flow.manifest.lint import Json, Lint, Sighting, block, places, text
from operable.gate.policy.shell.command_line import given_script, simple_commands
from operable.gate.policy.shell.programs import SHELLS

_LIMIT = 20_000  # characters of a script that are read
_DEPTH = 4  # shells within shells

_WRAPPERS = frozenset(
    "sudo doas env nohup nice ionice time timeout stdbuf setsid xargs command exec busybox".split()
)
_WITH_VALUE = frozenset("-u -g --user --group -I -L".split())  # options of wrappers
_SQL_CLIENTS = frozenset("psql mysql mariadb sqlite3 clickhouse-client sqlcmd bq duckdb".split())
_SQL = re.compile(
    r"\b(?:drop\s+(?:table|database|schema|index|view)|truncate\s+\w|delete\s+from|alter\s+table\s+\S+\s+drop)\b",
    re.IGNORECASE,
)
# Programs that destroy whatever their arguments are.
_ALWAYS = {
    **dict.fromkeys("rm unlink srm".split(), "removes files"),
    **dict.fromkeys("shred wipefs mkfs fdisk sfdisk parted blkdiscard".split(), "overwrites a disk or file"),
    **dict.fromkeys("dropdb dropuser".split(), "drops a database"),
    **dict.fromkeys("userdel groupdel deluser".split(), "removes an account"),
    **dict.fromkeys("shutdown reboot halt poweroff".split(), "stops the machine"),
    **dict.fromkeys("killall pkill".split(), "kills processes by name"),
}
# (program, words that must all be there as regular expressions over one word, what it does)
_PATTERNS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("find", (r"-delete",), "removes files"),
    ("find", (r"-exec(?:dir)?", r"(?:.*/)?(?:rm|shred)"), "removes files"),
    ("dd", (r"of=.+",), "overwrites a file or disk"),
    ("truncate", (r"-s.*|--size.*",), "cuts a file"),
    ("rsync", (r"--delete.*",), "removes files at the other end"),
    ("git", (r"push", r"-f|--force(?:-with-lease.*)?|--delete|--mirror|\+.+"), "rewrites or removes a remote branch"),
    ("git", (r"reset", r"--hard"), "discards changes"),
    ("git", (r"clean", r"-[a-zA-Z]*f[a-zA-Z]*|--force"), "removes files"),
    ("kubectl", (r"delete|drain",), "removes resources of a cluster"),
    ("helm", (r"uninstall|delete|rollback",), "removes a release"),
    ("terraform", (r"destroy",), "destroys infrastructure"),
    ("terraform", (r"apply", r"-auto-approve"), "changes infrastructure"),
    ("tofu", (r"destroy",), "destroys infrastructure"),
    ("pulumi", (r"destroy",), "destroys infrastructure"),
    ("docker", (r"prune|rm|rmi|kill",), "removes containers or images"),
    ("podman", (r"prune|rm|rmi|kill",), "removes containers or images"),
    ("aws", (r"(?:delete|terminate|remove|deregister|purge)-.+|rm|rb",), "removes resources of a cloud"),
    ("gcloud", (r"delete",), "removes resources of a cloud"),
    ("gsutil", (r"rm|rb",), "removes resources of a cloud"),
    ("az", (r"delete|purge",), "removes resources of a cloud"),
    ("doctl", (r"delete|destroy",), "removes resources of a cloud"),
    ("heroku", (r".*destroy",), "removes an application"),
    ("gh", (r"delete|archive",), "removes something on GitHub"),
    ("redis-cli", (r"(?i:flushall|flushdb|del)",), "removes data"),
    ("mongosh", (r"(?s).*\b(?:drop|deleteMany|deleteOne|remove)\w*\(.*",), "removes data"),
    ("systemctl", (r"stop|disable|mask|kill",), "stops a service"),
    ("iptables", (r"-F|--flush|-X",), "removes the rules of the firewall"),
    ("crontab", (r"-r",), "removes all cron jobs"),
    ("chmod", (r"-[a-zA-Z]*R[a-zA-Z]*|--recursive",), "changes the modes of a whole folder"),
    ("chown", (r"-[a-zA-Z]*R[a-zA-Z]*|--recursive",), "changes the owners of a whole folder"),
    ("curl", (r"DELETE|-XDELETE|--request=DELETE",), "removes something over HTTP"),
    ("npm", (r"unpublish|publish",), "publishes forever"),
    ("twine", (r"upload",), "publishes forever"),
)  # fmt: skip
_HINT = 'add "approval": {"policy": "manual"}'


# Commands that destroy: what a word list says about a command line or a shell script.
# A list of patterns over words, not a sandbox: it finds what people write in the open. Wrappers (`sudo`, `env`,
# `timeout`) are looked through, and so are scripts that are given to a shell or a SQL client. What a shell line runs is
# read by `operable.gate.policy.shell.command_line`, as for the rules of agents.
def destruction(words: Sequence[str], stdin: str | None = None, depth: int = 0) -> str | None:
    """What this command line destroys ("removes files"), if the list knows it."""
    words = _unwrapped(words)
    if not words or depth > _DEPTH:
        return None
    program, arguments = words[0].rpartition("/")[2], words[1:]
    if program in SHELLS:
        script = given_script(program, arguments) or stdin
        return destruction_in_script(script, depth) if script else None
    if program in _SQL_CLIENTS and _SQL.search(" ".join([*arguments, stdin or ""])[:_LIMIT]):
        return "removes data"
    if program in _ALWAYS or program.startswith("mkfs."):
        return _ALWAYS[program.partition(".")[0]]
    for name, patterns, what in _PATTERNS:
        if name == program and all(_any_matches(pattern, arguments) for pattern in patterns):
            return what
    return None


def destruction_in_script(script: str, depth: int = 0) -> str | None:
    """The first command of a script that destroys something."""
    for words in simple_commands(script[:_LIMIT]):
        found = destruction([word or "" for word in words], depth=depth + 1)
        if found is not None:
            return found
    return "removes data" if _SQL.search(script[:_LIMIT]) and _mentions_sql_client(script) else None


def _mentions_sql_client(script: str) -> bool:
    return any(word.rpartition("/")[2] in _SQL_CLIENTS for word in script[:_LIMIT].split())


def _any_matches(pattern: str, words: Sequence[str]) -> bool:
    return any(re.fullmatch(pattern, word[:2000]) for word in words)


def _unwrapped(words: Sequence[str]) -> Sequence[str]:
    """Without `sudo -u x`, `env A=b`, `timeout 5` and similar words in front."""
    while words and (words[0].rpartition("/")[2] in _WRAPPERS or _is_assignment(words[0])):
        words = words[1:]
        while words and (words[0].startswith("-") or _is_assignment(words[0]) or words[0][:1].isdigit()):
            words = words[2 if words[0] in _WITH_VALUE else 1 :]
    return words


def _is_assignment(word: str) -> bool:
    return re.match(r"[A-Za-z_][A-Za-z0-9_]*=", word) is not None


def _look(manifest: Any) -> Iterator[Sighting]:
    for tasks in places(manifest):
        for place in tasks:
            if place.enabled and not _is_gated(place.task):
                yield from _sightings(place.path, place.task)


def _is_gated(task: Json) -> bool:
    approval = block(task, "approval")
    policy = approval.get("policy")
    return policy in ("manual", "auto-reject") or (policy is None and approval.get("required") is True)


def _sightings(path: str, task: Json) -> Iterator[Sighting]:
    shell = block(task, "shell")
    program, arguments = text(shell, "program"), shell.get("args")
    words = [word for word in arguments if isinstance(word, str)] if isinstance(arguments, list) else []
    if program is not None:
        what = destruction([program, *words], text(shell, "stdin"))
        if what is not None:
            yield Sighting(f"{path}.shell", f"{what} without asking a person", _HINT)
    script = text(block(task, "verify"), "shell")
    what = None if script is None else destruction_in_script(script)
    if what is not None:
        yield Sighting(f"{path}.verify.shell", f"a check {what}", "a check should only read")


LINT = Lint("warning", "destructive shells ask for approval", _look)
