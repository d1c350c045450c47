"""When a run goes in circles: plain rules over the rounds of one run, no clock and no I/O.

After each round of tool calls the guard says how to go on: as before; with a word of warning to the model; with one
last answer without tools; or not at all. The rules, each of which counts within one run:

- the same malformed call in N rounds on end: abort (N: --max-tool-call-malformed-turns, 0 turns the rule off)
- the same call failing: a warning one round before the limit, then the last answer (--max-tool-call-failure-turns)
- rounds in which everything failed: a warning after 3, the last answer after 8
- a cycle of 2 to 4 rounds that repeats: a warning at the second repeat, the last answer at the third
- the turn budget (--max-turns, rounds of tools) is used up: the last answer

Of several verdicts the gravest counts.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from operable.agent.provider.model import ModelCall
from operable.kernel.canonical import digest
from operable.kernel.data_class import dataclass

_ALL_FAILED_WARN, _ALL_FAILED_STOP = 3, 8
_SHORTEST_CYCLE, _LONGEST_CYCLE = 2, 4  # the same call again and again may be waiting for something
_CYCLE_WARN, _CYCLE_STOP = 2, 3
_REMEMBERED = _LONGEST_CYCLE * (_CYCLE_STOP + 1)
Action = Literal["go_on", "warn", "finalise", "abort"]
_GRAVITY = ("go_on", "warn", "finalise", "abort")


@dataclass(frozen=True, slots=True)
class GuardVerdict:
    action: Action = "go_on"
    message: str = ""
    used_up: bool = False  # because of the turn budget


class Guard:
    """The memory of one run."""

    def __init__(
        self, *, max_turns: int | None = None, malformed_limit: int = 3, failure_limit: int = 3
    ) -> None:
        self._max_turns = max_turns
        self._malformed_limit = malformed_limit
        self._failure_limit = failure_limit
        self._turns = 0
        self._malformed: tuple[str, int] = ("", 0)
        self._failures: Counter[str] = Counter()
        self._all_failed = 0
        self._rounds: list[str] = []

    def after_round(self, calls: Sequence[ModelCall], failed: set[str]) -> GuardVerdict:
        """What to do after these calls, of which those with these ids failed."""
        signatures = {call.call_id: _signature(call) for call in calls}
        verdicts = (
            self._after_turn(),
            self._after_malformed(calls),
            self._after_failures([signatures[call.call_id] for call in calls if call.call_id in failed]),
            self._after_all_failed(len(failed) == len(calls)),
            self._after_cycle("|".join(sorted(signatures.values()))),
        )
        return max(verdicts, key=lambda verdict: _GRAVITY.index(verdict.action))

    def _after_turn(self) -> GuardVerdict:
        self._turns += 1
        if self._max_turns and self._turns >= self._max_turns:
            text = "The turn budget is used up; answer now, without further tools."
            return GuardVerdict("finalise", text, used_up=True)
        return GuardVerdict()

    def _after_malformed(self, calls: Sequence[ModelCall]) -> GuardVerdict:
        malformed = "|".join(f"{call.name}:{call.malformed}" for call in calls if call.malformed is not None)
        last, count = self._malformed
        self._malformed = (malformed, (count + 1 if malformed == last else 1) if malformed else 0)
        if self._malformed_limit and self._malformed[1] >= self._malformed_limit:
            return GuardVerdict("abort", "The model keeps sending the same malformed tool call.")
        return GuardVerdict()

    def _after_failures(self, signatures: list[str]) -> GuardVerdict:
        self._failures.update(signatures)
        if not self._failure_limit:
            return GuardVerdict()
        worst = max((self._failures[signature] for signature in signatures), default=0)
        if worst >= self._failure_limit:
            return GuardVerdict(
                "finalise", f"The same tool call failed {worst} times; answer now, without further tools."
            )
        if worst == self._failure_limit - 1 and worst > 1:
            return GuardVerdict("warn", "This tool call failed again in the same way. Try something else.")
        return GuardVerdict()

    def _after_all_failed(self, every_call_failed: bool) -> GuardVerdict:
        self._all_failed = self._all_failed + 1 if every_call_failed else 0
        if self._all_failed >= _ALL_FAILED_STOP:
            return GuardVerdict(
                "finalise",
                f"Nothing worked in {self._all_failed} rounds; answer now, without further tools.",
            )
        if self._all_failed == _ALL_FAILED_WARN:
            return GuardVerdict("warn", "Nothing worked in three rounds. Think again about what goes wrong.")
        return GuardVerdict()

    def _after_cycle(self, signature: str) -> GuardVerdict:
        self._rounds = [*self._rounds[-_REMEMBERED:], signature]
        repeats = max(self._repeats(length) for length in range(_SHORTEST_CYCLE, _LONGEST_CYCLE + 1))
        if repeats >= _CYCLE_STOP:
            return GuardVerdict(
                "finalise", "The same tool calls are repeated; answer now, without further tools."
            )
        if repeats == _CYCLE_WARN:
            return GuardVerdict("warn", "You are repeating the same tool calls. Use what you already know.")
        return GuardVerdict()

    def _repeats(self, length: int) -> int:
        """How many times the last `length` rounds were already there, one after the other, before them."""
        cycle, count = self._rounds[-length:], 0
        position = len(self._rounds) - 2 * length
        while position >= 0 and self._rounds[position : position + length] == cycle:
            count += 1
            position -= length
        return count


def _signature(call: ModelCall) -> str:
    try:
        return f"{call.name}:{digest(dict(call.arguments))}"
    except ValueError:  # a lone surrogate, or a number that is not finite: unequal to anything but itself
        return f"{call.name}:{dict(call.arguments)!r}"
