"""Help for people, from what the author declared: docstring, signature, examples."""

from __future__ import annotations

from operable.tool.arguments import standard_options
from operable.tool.declare import BUILT_IN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from operable.tool.declare import Command, Param, Tool

_STANDARD_HELP = {
    "output": ("MODE", "jsonl for the machine stream, human (default) for people"),
    "format": ("MODE", "the same as --output"),
    "schema-version": ("VERSION", "speak this schema version (2 or 2.1.0)"),
    "accept-schema": ("NAME@MAJOR", "speak this schema"),
    "timeout": ("SECONDS", "give up after this time"),
    "no-color": ("", "no colour"),
    "debug": ("", "tracebacks on stderr, redacted"),
    "help": ("", "show this help"),
    "limit": ("N", "at most N results"),
    "cursor": ("TOKEN", "go on where an earlier page ended (its next_cursor)"),
    "max-bytes": ("N", "at most N bytes of results"),
    "max-lines": ("N", "at most N lines of results"),
    "dry-run": ("", "show the plan and its digest, do nothing"),
    "confirm": ("[DIGEST]", "do it; with a digest, only the plan that a dry run showed"),
    "confirm-count": ("N", "do it only if exactly N things are affected"),
    "idempotency-key": ("KEY", "do it once, however often this is sent with the same key"),
    "input-json": ("FILE|-", "read a JSON value or array"),
    "input-jsonl": ("FILE|-", "read one JSON object per line, or the stream of another tool"),
    "continue-on-error": ("", "report bad items and go on with the others"),
    "fail-fast": ("", "stop at the first bad item, before any effect (default)"),
}


def description(command: Command) -> str:
    """The docstring without its parameter lines."""
    texts = parameter_help(command)
    lines = (command.function.__doc__ or "").strip().splitlines()
    kept, inside = [], False
    for line in (line.strip() for line in lines):
        name = line.partition(":")[0]
        inside = (name in texts and ":" in line) or (inside and bool(line))
        if not inside:
            kept.append(line)
    return "\n".join(kept).strip()


def parameter_help(command: Command) -> dict[str, str]:
    """`name: text` lines of the docstring (a text may go on over indented lines), for the parameters there are."""
    names = {param.name for param in command.params}
    texts: dict[str, str] = {}
    current = ""
    for line in (command.function.__doc__ or "").splitlines():
        name, colon, text = line.strip().partition(":")
        if colon and name in names:
            current = name
            texts[name] = text.strip()
        elif not line.strip():
            current = ""
        elif current:
            texts[current] += f" {line.strip()}"
    return texts


def tool_help(tool: Tool) -> str:
    names = tool.names()
    rows = [(name, _summary(tool, name)) for name in names]
    built_in = [(name, _summary(tool, name)) for name in BUILT_IN if name not in names]
    lines = [
        f"{tool.name} {tool.version}" + (f": {tool.summary}" if tool.summary else ""),
        "",
        f"Usage: {tool.name} COMMAND [ARGUMENTS] [OPTIONS]",
        "",
        "Commands:",
        *_table(rows),
        "",
        "Every tool has:",
        *_table(built_in),
        "",
        f"{tool.name} COMMAND --help tells more. Add --output jsonl to any command for the machine stream.",
    ]
    return "\n".join(lines)


def command_help(tool: Tool, command: Command) -> str:
    texts = parameter_help(command)
    lines = [usage(tool, command), "", description(command)]
    operands = [(param.flag.upper(), texts.get(param.name, "")) for param in command.params if param.operand]
    options = [(_option(param), _option_text(param, texts)) for param in command.params if not param.operand]
    standard = []
    for name in standard_options(tool, command):
        value, text = _STANDARD_HELP[name]
        standard.append((f"--{name} {value}".rstrip(), _with_default(command, name, text)))
    for title, rows in (("Operands", operands), ("Options", options), ("Standard options", standard)):
        if rows:
            lines += ["", f"{title}:", *_table(rows)]
    if command.examples:
        lines += ["", "Examples:", *(f"  {tool.name} {example}" for example in command.examples)]
    return "\n".join(lines)


def usage(tool: Tool, command: Command) -> str:
    words = [tool.name, command.name]
    for param in command.params:
        if param.operand:
            word = param.flag.upper() + ("…" if param.many else "")
            words.append(word if param.required else f"[{word}]")
    words += [_option(param) for param in command.params if not param.operand and param.required]
    return f"Usage: {' '.join(words)} [OPTIONS]"


def _summary(tool: Tool, name: str) -> str:
    command = tool.find(name)
    return description(command).partition("\n")[0] if command else ""


def _option(param: Param) -> str:
    if param.kind.base == "boolean":
        return f"--{param.flag}"
    if param.kind.base == "choice":
        return f"--{param.flag} {'|'.join(map(str, param.kind.choices))}"
    word = (param.kind.item or param.kind).base.upper().replace("STRING", "TEXT")
    return f"--{param.flag} {word}" + ("…" if param.kind.base == "array" else "")


def _option_text(param: Param, texts: dict[str, str]) -> str:
    text = texts.get(param.name, "")
    if param.required:
        return f"{text} (required)".strip()
    if param.default in (None, False, "", [], ()):
        return text
    return f"{text} (default {param.default})".strip()


def _with_default(command: Command, name: str, text: str) -> str:
    default = {"limit": command.limit, "timeout": command.timeout}.get(name)
    return text if default is None else f"{text} (default {default:g})"


def _table(rows: list[tuple[str, str]]) -> list[str]:
    width = min(max((len(left) for left, _ in rows), default=0), 30)
    return [f"  {left:<{width}}  {right}".rstrip() for left, right in rows]
