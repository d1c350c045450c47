"""docs/reference/wire.md: the codecs without I/O, module by module, from their docstrings and signatures."""

import pkgutil

from operable import wire
from operable.spec import schema
from operable.wire.framework import FRAMEWORK as EVENTS
from operable.wire.framework import Entry, Hit, Match, Open
from tools.api import section, undocumented
from tools.declared import module
from tools.markdown import code, table

PATH = "docs/reference/wire.md"

# In the order in which a reader meets them; each is imported from the module that the heading names.
PARTS = {
    "operable.wire.aoi": ("Reader",),
    "operable.wire.verdict": ("Verdict", "Counts", "with_summary", "without_summary", "explain"),
    "operable.wire.framework": ("shape", "plain", "encode", "Malformed", "Open", "Extra"),
    "operable.wire.lines": (
        "LineSplitter",
        "SkippingSplitter",
        "BlockSplitter",
        "split_lines",
        "first_line",
        "LineTooLong",
    ),
    "operable.wire.decode": ("LineDecoder", "Offence", "is_object", "is_domain", "repeated_key"),
    "operable.wire.notes": ("Note", "Tally", "remarks", "is_noteworthy", "quoted"),
    "operable.wire.reserved_names": ("check_domain_types", "check_schema", "event_types"),
}
# Codecs of conversations with agents: their vocabulary is explained where it is used (host and agent).
CONVERSATIONS = (
    "operable.wire.events",
    "operable.wire.json_stream_frames",
    "operable.wire.json_stream",
    "operable.wire.jsonrpc",
    "operable.wire.acp",
)
TYPES = {**EVENTS, "entry": Entry, "hit": Hit, "match": Match}
# Words for parameters and members that have none in the source (tools.api).
TEXTS: dict[str, dict[str, str]] = {
    "Reader": {
        "unbounded": "Whether the stream needs no summary; may be set until `eof`.",
        "accept_partial": "Whether partial results are good enough.",
        "strict": "Whether a doubt is a failure.",
        "meta": "The meta event, once it was read.",
        "summary": "The summary event, once it was read.",
        "last_error": "The last error event that was read.",
        "counts": "How many events were read so far.",
        "types": "The caller's event types.",
        "limit": "Bytes of one line.",
    },
    "Counts": {
        "events": "All events.",
        "domain": "Those that are not the framework's.",
        "warnings": "`aoi:warning` events.",
        "errors": "`aoi:error` events.",
    },
    "Open": {
        "timestamp": "ISO 8601.",
        "trace_id": "Correlates the events of one run.",
        "extra": "Fields that the type does not know.",
    },
    "LineSplitter": {
        "error": "Set when a line was longer than the limit; nothing is delivered after it.",
        "limit": "",
    },
    "BlockSplitter": {
        "error": "Set when a line was longer than the limit; nothing is delivered after it.",
    },
    "Note": {
        "code": "A [stable name](verdicts.md#notes).",
        "message": "The remark, as a sentence.",
        "line": "The first line that gave cause for it.",
    },
}


def render() -> str:
    lines = [
        "# operable.wire",
        "",
        "Generated from the source by `./dev fix`. Bytes become lines, lines become events, and the end becomes a",
        "verdict. Nothing here reads, writes or waits: you feed bytes. What the verdicts mean:",
        "[how a stream is judged](../explain/how-a-stream-is-judged.md).",
    ]
    for name, names in PARTS.items():
        lines += ["", f"## {name}", "", _opening(name), ""]
        if name == "operable.wire.framework":
            lines += [*_types(), ""]
        for item in names:
            if item == "Verdict":
                lines += ["### Verdict", "", "See [operable.run](run.md#verdict).", ""]
            else:
                lines += section(name, item, TEXTS, level="###")
    for name in CONVERSATIONS:
        lines += ["", f"## {name}", "", _opening(name), ""]
    return "\n".join(lines).replace("\n\n\n", "\n\n").rstrip() + "\n"


def missing() -> list[str]:
    """What this page does not explain."""
    found = []
    for part in pkgutil.iter_modules(wire.__path__, "operable.wire."):
        if part.name in CONVERSATIONS:
            continue
        public = {item.name for item in module(part.name).declared() if not item.name.startswith("_")}
        shown = {*PARTS.get(part.name, ()), *(kind.__name__ for kind in TYPES.values())}
        found += [f"{part.name}.{name}" for name in sorted(public - shown)]
        found += undocumented(
            part.name, [name for name in PARTS.get(part.name, ()) if name != "Verdict"], TEXTS
        )
    definitions = schema("aoi-events")["$defs"]
    for name, kind in TYPES.items():
        fields = {member.name for member in module("operable.wire.framework").find(kind.__name__).fields()}
        found += [f"{name}.{field}" for field in sorted(fields - definitions[name]["properties"].keys())]
    return found


def _opening(name: str) -> str:
    """The first paragraph of a module's docstring."""
    return " ".join(module(name).text.partition("\n\n")[0].split())


def _types() -> list[str]:
    rows = [
        (code(name), code(kind.__name__), kind.__doc__ or "", f"[fields](events.md#{name.replace(':', '')})")
        for name, kind in TYPES.items()
    ]
    note = ["", f"All of them are `{Open.__name__}`: {' '.join((Open.__doc__ or '').split())}"]
    return [*table(("type", "class", "meaning", ""), rows), *note]
