"""What a manifest says about an agent, what the agent says about itself, and what it then does: where they differ.

Three sources for each of the seven capability words of AIP-45: declared (manifest), offered (handshake, where the protocol
has a word for it), observed (the events of a session). A session is refused when it was promised something that the
handshake denies and that it depends on: a resumable session with an agent that cannot resume. Every other difference is
reported, not fatal: a manifest that promises too little is merely out of date.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from operable.host.arm import Opened
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.manifest.kinds.agent_cli import AgentCli
from operable.wire import events as e

WORDS = ("streaming", "tool_calls", "sub_agents", "file_io", "multimodal", "resumable", "bidirectional")
# Only what an event proves; its absence proves nothing.
_PROVES: dict[type, str] = {
    e.TextDelta: "streaming",
    e.ToolCall: "tool_calls",
    e.AgentPrompt: "bidirectional",
}


@dataclass(frozen=True, slots=True)
class DriftDifference:
    """One word about which the sources differ. None: that source does not say."""

    word: str
    declared: Any
    offered: bool | None
    observed: bool | None

    @property
    def text(self) -> str:
        words = [f"{name}: {value}" for name, value in self.sources.items() if value is not None]
        return f"{self.word} ({', '.join(words)})"

    @property
    def sources(self) -> dict[str, Any]:
        return {"manifest": self.declared, "handshake": self.offered, "observed": self.observed}


def differences(
    manifest: AgentCli, opened: Opened | None, observed: Mapping[str, bool] | None = None
) -> list[DriftDifference]:
    """Where manifest, handshake and observation differ. Modes and models of the manifest are compared by name."""
    found = []
    offered = opened.observed if opened is not None else {}
    for word in WORDS:
        said = DriftDifference(
            word, getattr(manifest.capabilities, word), offered.get(word), (observed or {}).get(word)
        )
        if len({value for value in said.sources.values() if value is not None}) > 1:
            found.append(said)
    if opened is not None:
        found += _unknown_names(manifest, opened)
    return found


def observed_in(events: Iterable[e.AnyEvent]) -> dict[str, bool]:
    """The words that these events prove."""
    found: dict[str, bool] = {}
    for event in events:
        word = _PROVES.get(type(event))
        if word is not None:
            found[word] = True
        if isinstance(event, e.ToolCall) and event.kind in ("read", "edit", "delete", "move"):
            found["file_io"] = True
    return found


def require(manifest: AgentCli, opened: Opened | None, *, resuming: bool) -> None:
    """Refuse what cannot work: Fail config/CAPABILITY_DRIFT."""
    if opened is None or opened.observed.get("resumable") is not False:
        return
    needed = manifest.session.mode == "resumable" or resuming
    if needed:
        raise Fail(
            "config",
            "CAPABILITY_DRIFT",
            f"{manifest.id} is declared resumable, but the agent says that it cannot resume sessions",
            target="capabilities.resumable",
            hint="correct the manifest, or install a version of the agent that can",
            drift=[difference.text for difference in differences(manifest, opened)],
        )


def notice(manifest: AgentCli, opened: Opened | None, session_id: str) -> e.Notice | None:
    """The differences as an event for the log; None if nothing differs."""
    found = differences(manifest, opened)
    if not found:
        return None
    text = "the manifest and the agent differ: " + ", ".join(difference.text for difference in found)
    data = [{"word": difference.word, **difference.sources} for difference in found]
    return e.Notice("drift", text, session_id, data)


def _unknown_names(manifest: AgentCli, opened: Opened) -> list[DriftDifference]:
    """Modes that the manifest leaves to the protocol and that the agent does not have."""
    if not opened.modes:
        return []
    by_protocol = [mode.id for mode in manifest.modes if not mode.bin_args_append and not mode.env]
    quirks = manifest.metadata.get("operable")
    called = quirks.get("mode_ids", {}) if isinstance(quirks, dict) else {}
    return [
        DriftDifference(f"mode {name}", True, offered=False, observed=None)
        for name in by_protocol
        if called.get(name, name) not in opened.modes and name != "default"
    ]
