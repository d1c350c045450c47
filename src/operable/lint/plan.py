"""What a tool claims, taken from its own discovery: its commands, what each is said to do, and how to try it.

A `ToolPlan` is made once (`discovery` asks the tool, here the answers are read) and holds no opinion: a claim that is
wrong is for the checks. Anything may be missing or of the wrong type; what cannot be understood counts as not claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any

from operable.kernel.data_class import dataclass
from operable.lint.evidence import Invocation, Observation
from operable.lint.profile import CommandProfile, Profile
from operable.lint.samples import example_item, from_examples, from_schema

# Their answer is one JSON document; only where the manifest says so do they have a stream too.
DOCUMENTS = ("schema", "input-schema", "capabilities", "completion")
MACHINE = ("--output", "jsonl")
CONFIRM = ("--confirm",)
# An unbounded stream is looked at until it has been silent for so long.
SETTLE = 0.3
_LONGEST = 200


@dataclass
class CommandPlan:
    """One command. The flags are the manifest's claims; an absent one means no."""

    name: str
    tool: str
    claims: dict[str, Any]
    profile: CommandProfile
    machine: tuple[str, ...]
    ask: Callable[[CommandPlan, str], dict[str, Any] | None] | None = field(default=None, repr=False)
    _settled: tuple[Invocation | None, str] | None = field(default=None, repr=False)

    @cached_property
    def published(self) -> dict[str, Any] | None:
        """What `input-schema` says of it; the tool is asked when a check needs it."""
        return None if self.ask is None else self.ask(self, "")

    @cached_property
    def inputs(self) -> dict[str, Any] | None:
        """The schema of its command line: one that says so, by where each property belongs (`x-cli`)."""
        if _is_command_line(self.published):
            return self.published
        other = None if self.ask is None or not self.reads_jsonl else self.ask(self, "--arguments")
        return other if _is_command_line(other) else None

    @property
    def guessed(self) -> dict[str, Any] | None:
        """A schema to make arguments from. One that does not say what it is of is tried as one of options, and never
        judged by.
        """
        return self.inputs if self.reads_jsonl else self.inputs or self.published

    @cached_property
    def item_schema(self) -> dict[str, Any] | None:
        """The schema of what it reads, line by line (section 12.1)."""
        if self.ask is None or not self.reads_jsonl:
            return None
        return self.ask(self, "--items") if _is_command_line(self.published) else self.published

    @cached_property
    def item(self) -> dict[str, Any] | None:
        """An item of structured input, made from its schema."""
        return None if self.item_schema is None else example_item(self.item_schema)

    def claims_flag(self, name: str) -> bool:
        return self.claims.get(name) is True

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(self.name.split() if self.profile.words is None else self.profile.words)

    @property
    def read_only(self) -> bool:
        """Said to change nothing itself, also where its needs keep it from being called read-only."""
        return self.claims_flag("read_only") or (self.claims.get("read_only") is False and self._names_needs)

    @property
    def _names_needs(self) -> bool:
        """Only a command that changes nothing names needs; for one that changes things, its dry run names them."""
        return bool(self.claims.get("needs")) and not self.claims_flag("supports_dry_run")

    @property
    def mutates(self) -> bool:
        """Said to change things itself. What runs other tools, or an agent, leaves their own guards in force."""
        return (
            self.claims.get("read_only") is False
            and not self._names_needs
            and not self.relays
            and not self.claims_flag("runs_tools")
        )

    @property
    def has_effect(self) -> bool:
        """Said to change things itself, or to have a dry run of what others do for it."""
        return self.mutates or (self.claims_flag("supports_dry_run") and not self.read_only)

    @property
    def destructive(self) -> bool:
        return self.claims_flag("destructive")

    @property
    def unbounded(self) -> bool:
        return self.claims_flag("unbounded")

    @property
    def relays(self) -> bool:
        return self.claims_flag("relays")

    @property
    def reads_jsonl(self) -> bool:
        return "jsonl" in self._strings("input_modes") or "--input-jsonl" in (self.profile.args or ())

    @property
    def event_types(self) -> list[str]:
        return self._strings("event_types")

    @property
    def has_stream(self) -> bool:
        """Whether there is a machine stream to look at."""
        outputs = self._strings("outputs")
        if self.name.removeprefix("aoi-") in DOCUMENTS:
            return "jsonl" in outputs
        return not outputs or "jsonl" in outputs

    @property
    def confirm(self) -> tuple[str, ...]:
        return CONFIRM if self.profile.confirm is None else tuple(self.profile.confirm)

    def _strings(self, key: str) -> list[str]:
        value = self.claims.get(key)
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []

    def invocation(self, arguments: Sequence[str], *extra: str) -> Invocation:
        """A call in machine mode with these arguments, then further options; what follows a `--` stays last."""
        words = list(arguments)
        end = words.index("--") if "--" in words else len(words)
        words = [*words[:end], *extra, *self.machine, *words[end:]]
        beside = tuple(map(tuple, self.profile.beside))
        call = Invocation((*self.words, *words), stdin=self.stdin(words), beside=beside)
        if self.unbounded:
            call = replace(call, signal="SIGINT", settle=SETTLE)
        return call

    def with_options(self, call: Invocation, *options: str) -> Invocation:
        """The same call with further options, before the `--` if it has one."""
        words = list(call.words)
        end = words.index("--") if "--" in words else len(words)
        return replace(call, words=(*words[:end], *options, *words[end:]))

    def stdin(self, words: Sequence[str]) -> bytes | None:
        if self.profile.stdin is not None:
            return self.profile.stdin.encode()
        if self.reads_jsonl and self.item is not None and "-" in words:
            return _line(self.item)
        return None

    def candidates(self) -> Iterator[list[str]]:
        """Arguments to try, best first."""
        if self.profile.args is not None:
            yield list(self.profile.args)
            return
        for arguments in from_examples(self.claims.get("examples"), self.tool, self.words):
            # An end that the example asks for is none of the stream's own.
            yield _unlimited(arguments) if self.unbounded else arguments
        if self.reads_jsonl and self.inputs is None and self.item_schema is not None:
            yield ["--input-jsonl", "-"]
        generated = from_schema(self.guessed)
        if generated is not None:
            if self.reads_jsonl and "--input-jsonl" not in generated:
                generated += ["--input-jsonl", "-"]
            yield generated
        else:
            yield []

    def settled(self, observe: Callable[[Invocation], Observation]) -> tuple[Invocation | None, str]:
        """The first candidate that does not fail in due form, or None and the reason. Asked once."""
        if self._settled is None:
            self._settled = self._settle(observe)
        return self._settled

    def _settle(self, observe: Callable[[Invocation], Observation]) -> tuple[Invocation | None, str]:
        if self.profile.skip is not None:
            return None, f"the profile says: {self.profile.skip}"
        if not self.has_stream:
            return None, "it prints a document and has no stream"
        problem = "there are no arguments to try it with"
        extra = self.confirm if self.destructive else ()
        for arguments in self.candidates():
            call = self.invocation(arguments, *extra)
            observation = observe(call)
            if not observation.excused:
                return call, ""
            error = observation.errors[-1]
            said = f"{error.get('code')}: {error.get('message')}"
            problem = f"`{observation.command_line}` failed ({said}); give it working `args` in the profile"
            plain = observe(replace(self, machine=()).invocation(arguments, *extra)) if self.machine else None
            if plain is not None and plain.succeeded and plain.summary is not None:
                problem = (
                    f"`{plain.command_line}` works and `{observation.command_line}` does not: "
                    "if it is always in machine mode, say `machine = []` in the profile"
                )
        return None, problem


@dataclass
class ToolPlan:
    """A tool as it describes itself."""

    program: str
    profile: Profile
    schema: dict[str, Any] | None = None
    capabilities: dict[str, Any] | None = None
    commands: list[CommandPlan] = field(default_factory=list)
    discovery: dict[str, Observation] = field(default_factory=dict)  # what was asked -> the answer
    state: Invocation | None = None  # the call that reports the state
    reported: dict[tuple[str, str], object] = field(default_factory=dict)  # see `Case.fail_as_a_whole`

    @property
    def name(self) -> str:
        claimed = (self.capabilities or {}).get("tool")
        # It is written into every report, for people and for machines.
        usable = (
            isinstance(claimed, str)
            and claimed.strip()
            and claimed.isprintable()
            and len(claimed) <= _LONGEST
        )
        return str(claimed) if usable else self.program.rpartition("/")[2]

    @property
    def machine(self) -> tuple[str, ...]:
        if self.profile.tool.machine is not None:
            return tuple(self.profile.tool.machine)
        flags = (self.capabilities or {}).get("machine_flags")
        first = (
            flags[0] if isinstance(flags, list) and flags and isinstance(flags[0], str) else self.output_flag
        )
        return first, "jsonl"

    @property
    def output_flag(self) -> str:
        """The one that the tool has answered to: --output, or --format where only that is known (section 16.4)."""
        answer = self.discovery.get("capabilities")
        asked = answer.invocation.words if answer is not None and self.capabilities is not None else ()
        return "--format" if "--format" in asked else MACHINE[0]

    def asking(self, command: str) -> tuple[str, ...]:
        """The words that ask for the input schema of a command."""
        return (self.alias("input-schema"), "--command", command, self.output_flag, "json")

    def alias(self, name: str) -> str:
        """The tool's own word for a standard flag or subcommand (section 16.4)."""
        aliases = (self.capabilities or {}).get("aliases")
        own = aliases.get(name) if isinstance(aliases, dict) else None
        return own if isinstance(own, str) else name

    def command(self, *names: str) -> CommandPlan | None:
        return next((command for command in self.commands if command.name in names), None)

    def versions(self) -> list[tuple[str, list[str], str]]:
        """Name, versions and default of each schema that the manifest declares."""
        found = []
        schemas = (self.capabilities or {}).get("schemas")
        for entry in schemas if isinstance(schemas, list) else ():
            if isinstance(entry, dict):
                versions = entry.get("versions")
                known = (
                    [version for version in versions if isinstance(version, str)]
                    if isinstance(versions, list)
                    else []
                )
                found.append((str(entry.get("name")), known, str(entry.get("default"))))
        return found


def _is_command_line(schema: dict[str, Any] | None) -> bool:
    return schema is not None and "x-cli" in str(schema)


def _unlimited(arguments: list[str]) -> list[str]:
    """Without `--limit N`."""
    if "--limit" in arguments:
        place = arguments.index("--limit")
        return arguments[:place] + arguments[place + 2 :]
    return [word for word in arguments if not word.startswith("--limit=")]


def _line(value: Any) -> bytes:
    from operable.lint.evidence import encode

    return encode(value).encode() + b"\n"
