"""Governance of one session: what the rules say about a question, what people said before, what the host may do itself.

Theory of operation. Every question of the agent passes `rule`: the policy answers, or a remembered decision does, or it
becomes an `Ask` for the queue. A rule that denies comes before every yes that was given. Every tool call passes
`tool_called` and `tool_finished`, which return an `Alarm` where the agent did not keep to what was decided
(`operable.host.policy.call_watch`); the caller stops the session then. An error while something is judged is a Fail with
the code UNJUDGED, which ends the session in the same way. Everything decided and everything that ran is in
the audit chain before it takes effect (`record`).
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from operable.gate.approvals import Ask, Decision, argument_digest, needs_option
from operable.gate.audit.chain import Audit
from operable.gate.policy.agent_path import ANYWHERE, AgentPaths
from operable.gate.policy.pattern import ALLOW, ASK, DENY, parse
from operable.gate.policy.rules import Policy, PolicyRule, Ruling
from operable.gate.policy.tool_arguments import strings_in
from operable.gate.policy.tool_call import Facts, JudgedCall
from operable.gate.policy.tool_map import ToolMap
from operable.host.policy.approved_content import shown_content
from operable.host.policy.call_watch import UNANSWERED, UNASKED, Alarm, CallWatch
from operable.host.policy.judged_question import Grants, JudgedQuestion, Thing, reported_call, things
from operable.host.policy.session_record import SessionRecord
from operable.kernel.errors import Fail
from operable.kernel.redact import Known, Redactor
from operable.wire.events import AgentPrompt, ToolCall, ToolResult

if TYPE_CHECKING:
    from operable.state.execution_files import ExecutionFile

UNJUDGED: Final = "JUDGING_FAILED"
_FILE_CHANGES: Final = frozenset({"edit", "delete", "move"})
_NAME_LIMIT: Final = 4096  # the length of the longest path that Linux takes


_P = ParamSpec("_P")
_T = TypeVar("_T")


def unjudged(error: Exception) -> Fail:
    """The failure of a session whose host could not judge something; the text of the error may be the agent's."""
    text = (
        f"the host could not judge what the agent did ({type(error).__name__}), so that it counts as denied"
    )
    return Fail("internal", "JUDGING_FAILED", text)


def _closed(judge: Callable[_P, _T]) -> Callable[_P, _T]:
    """What cannot be judged is not allowed: every error is a Fail that ends the session, and never an answer."""

    @wraps(judge)
    def judged(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return judge(*args, **kwargs)
        except Fail:
            raise
        except Exception as error:
            raise unjudged(error) from error

    return judged


class Gate:
    """The rules of one session, and its books of what was asked and what ran."""

    def __init__(
        self,
        *,
        session_id: str,
        workspace: str,
        seen_as: str = "",
        home: str = "",
        home_at: str = "",
        policy: Policy,
        audit: Audit,
        attended: bool,
        asking: bool,
        quirks: Mapping[str, Any],
        kinds_of_mode: frozenset[str] = frozenset(),
        secrets: Known | Iterable[str] = (),
    ) -> None:
        self.workspace = workspace
        # The agent may call the workspace and its home otherwise: a sandbox may show them elsewhere.
        self._paths_of_agent = (workspace, seen_as, home, home_at)
        self.policy = policy
        self.attended = attended  # a user may answer; else what no rule allows is denied at once
        self.asking = asking  # the agent is expected to ask before it changes anything
        self.record = SessionRecord(audit, session_id)
        self._session_id = session_id
        self._quirks = quirks
        self._kinds_of_mode = kinds_of_mode
        self._redactor = Redactor(secrets)
        self._remembered: set[str] = set()
        self._tools = ToolMap(quirks.get("tools"))
        self._watch = CallWatch(self._facts, self._judge_told)
        self._made = 0  # questions of our own; an id is never used twice
        self._is_in_turn = False
        self._grants = Grants()
        self._denied: set[Thing] = set()  # in this turn
        self._unasked: list[tuple[str, str]] = []

    # --- questions

    @_closed
    def rule(self, prompt: AgentPrompt) -> Decision | Ask:
        """The answer, or the question for the queue."""
        if not prompt.tool_name:
            return self._input(prompt)
        judged = JudgedQuestion.of(prompt, self._told_before(prompt), self._facts)
        ruling = self._judge_question(judged.facts)
        self._watch.asked(judged, ruling)
        if ruling.effect == DENY and ruling.rule is not None:
            return Decision(False, ruling.reason, by=ruling.reference)
        if ruling.effect != ALLOW and judged.digest in self._remembered:
            return Decision(True, "allowed before, for this session", by="session")
        if ruling.effect == DENY or (ruling.effect == ASK and not self.attended):
            return Decision(False, ruling.reason, by=ruling.reference)
        if ruling.effect == ALLOW:
            if self._quirks.get("allow_option") or not needs_option(prompt.options):
                return Decision(
                    True, ruling.reason, by=ruling.reference, option_id=self._quirks.get("allow_option")
                )
            if not self.attended:
                text = "the agent offers no plain one-time permission, and none is picked for it"
                return Decision(False, text, by=ruling.reference)
        why = ruling.reason if ruling.effect == ASK else "the agent offers no plain one-time permission"
        return self._ask_about(judged, why)

    def _judge_question(self, facts: Facts) -> Ruling:
        """What the rules say, except for a question that goes beyond the mode of the agent.

        A mode that edits without asking, and asks about this edit, has found something special: a file that becomes
        execution, or one outside. A rule about all edits was not written for that.
        """
        ruling = self._judge_file(facts)
        if not self._is_of_mode(facts):
            return ruling
        return _only_by_name(
            ruling, f"the agent asks although its mode does not ask about every {' or '.join(facts.kinds)}"
        )

    def _judge_own(self, facts: Facts) -> Ruling:
        """The same for what the host is to do: no agent says what is special here."""
        ruling = self._judge_file(facts)
        if not self._denied.isdisjoint(things(facts)):
            return _only_by_name(ruling, "it was denied in this turn")
        return ruling

    def _judge_told(self, facts: Facts) -> Ruling:
        """The same for what the agent did: a mode that does not ask about a kind does not ask about its special files."""
        return self.policy.judge(facts) if self._is_of_mode(facts) else self._judge_file(facts)

    def _judge_file(self, facts: Facts) -> Ruling:
        """What the rules say, except for a file that becomes execution: a rule about other files does not allow that."""
        ruling = self.policy.judge(facts)
        if ruling.effect != ALLOW or self.policy.allows_everything:
            return ruling
        for path, found in _execution_files(facts):
            if ruling.rule is None or not parse(ruling.rule.pattern).has_part(found.part):
                named = _only_by_name(ruling, f"{path!r} becomes execution: {found.reason}")
                if named.effect != ALLOW:
                    return named
        return ruling

    def _is_of_mode(self, facts: Facts) -> bool:
        return bool(facts.kinds) and self._kinds_of_mode.issuperset(facts.kinds) and self.policy.asks

    @_closed
    def decided(self, prompt: AgentPrompt, decision: Decision) -> None:
        """A question was answered: remember what is to be remembered, write it down."""
        question = self._watch.answered(prompt.tool_call_id, decision)
        if decision.allowed and decision.remember == "call":
            if question is not None and question.judged.is_lasting:
                self._remembered.add(question.judged.digest)
        elif decision.remember:
            effect = ALLOW if decision.allowed else DENY
            rule = PolicyRule(
                effect, decision.remember, f"decided in this session by {decision.by or 'somebody'}"
            )
            self.policy = self.policy.with_rules([rule])
        judged = None if question is None else question.judged
        if judged is not None and self._is_in_turn:
            self._remember_of_turn(judged, allowed=decision.allowed)
        self.record.decision(prompt, decision, judged)

    def _remember_of_turn(self, judged: JudgedQuestion, *, allowed: bool) -> None:
        """The last answer counts: a denial withdraws the yes that came before it, and an approval the no."""
        if allowed:
            self._grants.add(judged.grants, judged.contents)
            self._denied.difference_update(judged.grants)
        else:
            self._grants.remove(judged.touches)
            self._denied.update(judged.touches)

    def budget_ask(self, text: str) -> Decision | Ask:
        if not self.attended:
            return Decision(False, text, by="budget")
        sealed = argument_digest("budget", text)
        return Ask(
            self._own_id("budget"),
            self._session_id,
            "budget",
            f"{text}; go on?",
            digest=sealed,
            why="a limit is reached",
        )

    # --- what the host does for the agent

    @_closed
    def rule_own(
        self,
        tool: str,
        kind: str,
        arguments: Mapping[str, Any],
        content: str | None = None,
        before: Callable[[], str] = str,
    ) -> Decision | Ask:
        """May the host itself do this (write a file, run a command)? An approval of exactly this may have been given
        already. `content` is what a file is to have, `before` gives what it has now.
        """
        facts = self._own(tool, kind, arguments)
        ruling = self._judge_own(facts)
        if ruling.effect == DENY and ruling.rule is not None:
            return Decision(False, ruling.reason, by=ruling.reference)
        # Used up also where a rule allows it: the yes was for this.
        was_allowed = self._grants.use(facts, content, before)
        if ruling.effect == ALLOW:
            return Decision(True, ruling.reason, by=ruling.reference)
        if was_allowed:
            return Decision(True, "allowed when the agent asked for it", by="turn")
        return self._refuse_or_ask(tool, kind, {**arguments, **shown_content(content)}, ruling)

    @_closed
    def rule_reading(self, tool: str, arguments: Mapping[str, Any]) -> Decision | Ask:
        """May the host read this for the agent? Yes, unless a rule or the level of autonomy says something else."""
        ruling = self.policy.judge(self._own(tool, "read", arguments))
        if ruling.effect == ALLOW or (ruling.rule is None and self.policy.autonomy > 0):
            return Decision(True, ruling.reason, by=ruling.reference)
        return self._refuse_or_ask(tool, "read", arguments, ruling)

    def _refuse_or_ask(
        self, tool: str, kind: str, arguments: Mapping[str, Any], ruling: Ruling
    ) -> Decision | Ask:
        if ruling.effect == DENY or not self.attended:
            return Decision(False, ruling.reason, by=ruling.reference)
        if not self._is_in_turn:
            return Decision(False, "no turn runs, and no rule allows it", by=ruling.reference)
        prompt = AgentPrompt(
            self._session_id, self._own_id("host"), tool_name=tool, arguments=dict(arguments), kind=kind
        )
        return self._ask_about(JudgedQuestion.of(prompt, (), self._facts), ruling.reason)

    # --- what ran

    def begin_turn(self, text: str) -> None:
        """Before the message is sent; Fail: it must not be."""
        self.end_turn()
        self._watch.begin_turn()
        self.record.begin_turn(text)
        self._is_in_turn = True

    def cancel_turn(self) -> None:
        """The host does nothing more for this turn, and no user is asked until the next one.

        What was answered still covers the calls that run: the agent has yet to report how they ended.
        """
        self._is_in_turn = False
        self._grants.clear()
        self._denied.clear()

    def end_turn(self) -> None:
        """Nothing that was answered in this turn counts any more."""
        self.cancel_turn()
        self._watch.end_turn()

    @_closed
    def tool_called(self, call: ToolCall) -> Alarm | None:
        """An agent says that it calls a tool, or announces a call again in another form.

        In the chain with `record.flush`, before the agent gets another word of us.
        """
        if not self._watch.forms(call.tool_call_id):
            self.record.begin_call(call)
        return self._watch.reported(call)

    @_closed
    def tool_finished(self, result: ToolResult) -> Alarm | None:
        """Write the call down; the alarm, if it must be raised."""
        if not self._watch.is_open(result.tool_call_id):
            return self._watch.finished_late(result)
        forms = self._watch.forms(result.tool_call_id)
        decision, alarm = self._watch.finished(result, expects_questions=self.asking)
        self.record.end_call(forms[-1], result, decision, len(forms) - 1)
        if decision[1] == UNASKED and alarm is None and not result.is_error and not result.denied:
            self._note_unasked(forms)
        return alarm

    def tool_lost(self, result: ToolResult) -> None:
        """The session cannot go on: write the end of a call down, without judging it."""
        forms = self._watch.forms(result.tool_call_id)
        if forms:
            self.record.end_call(forms[-1], result, ("nobody", UNANSWERED), len(forms) - 1)

    def take_unasked(self) -> list[tuple[str, str]]:
        """The files that become execution and that calls changed without a question, with the reasons; each once."""
        changed, self._unasked = self._unasked, []
        return changed

    def _note_unasked(self, forms: list[ToolCall]) -> None:
        """A mode that does not ask about a kind does not ask about its special files: they are named afterwards."""
        changed = list(_execution_files(self._facts(reported_call(forms[-1], *forms[:-1]))))
        if changed and not self.policy.allows_everything:
            self._unasked += ((path, found.reason) for path, found in changed)
            self.record.unasked_change(forms[-1].tool_name, [path for path, _ in changed])

    def open_calls(self) -> list[ToolCall]:
        return self._watch.open_calls

    def _own_id(self, what: str) -> str:
        self._made += 1
        return f"{what}-{self._made}"

    def _told_before(self, prompt: AgentPrompt) -> list[ToolCall]:
        """What the agent said about the call of a question; of a call that is still open."""
        call_id = prompt.call_id or ""
        return self._watch.forms(call_id) if self._watch.is_open(call_id) else []

    def _own(self, tool: str, kind: str, arguments: Mapping[str, Any]) -> Facts:
        at_work = tuple(call.tool_name for call in self._watch.open_calls)
        return self._facts(JudgedCall(tool, kind, dict(arguments), meanwhile=at_work))

    def _facts(self, call: JudgedCall) -> Facts:
        return Facts(call, self.agent_paths(), self._tools)

    def agent_paths(self) -> AgentPaths:
        """Where the paths of the agent lead at this moment."""
        return AgentPaths(*self._paths_of_agent)

    def _input(self, prompt: AgentPrompt) -> Decision | Ask:
        if not self.attended:
            return Decision(False, "no user is there to answer", by="policy")
        return Ask(
            prompt.tool_call_id,
            self._session_id,
            "input",
            self._redactor.text(prompt.text),
            options=prompt.options,
            schema=prompt.schema,
            url=prompt.url,
            digest=argument_digest("input", prompt.text),
            why="the agent asks for input",
        )

    def _ask_about(self, judged: JudgedQuestion, why: str) -> Ask:
        prompt, shown = judged.prompt, self._redactor.value(judged.shown)
        if isinstance(prompt.arguments, dict):
            # Some agents have the command in a title: what it runs must not be hidden with a secret in it.
            lines = {name: line for name, line in prompt.arguments.items() if line in judged.facts.lines}
            shown["arguments"] |= {name: self._redactor.command(line) for name, line in lines.items()}
        return Ask(
            prompt.tool_call_id,
            self._session_id,
            "permission",
            self._redactor.text(prompt.text),
            prompt.tool_name,
            prompt.kind,
            shown.get("arguments"),
            prompt.options,
            prompt.schema,
            prompt.url,
            judged.digest,
            why=why,
            diffs=tuple(shown.get("diffs", ())),
            locations=tuple(shown.get("locations", ())),
            announced=tuple(shown.get("announced", ())),
        )


def _only_by_name(ruling: Ruling, why: str) -> Ruling:
    """An allow that was not written for just this is a question."""
    is_named = ruling.rule is not None and parse(ruling.rule.pattern).names_one
    if ruling.effect != ALLOW or is_named:
        return ruling
    return Ruling(ASK, ruling.rule, f"{why}: only a rule that names it, or a person, allows it")


def _execution_files(facts: Facts) -> Iterator[tuple[str, "ExecutionFile"]]:
    """The files of a change that become execution, and why."""
    from operable.state.execution_files import ExecutionFile, find_execution

    if facts.kinds and not _FILE_CHANGES.intersection(facts.kinds):
        return
    paths = [*facts.paths.stated, *facts.written_paths]
    if not facts.paths.known:
        # What names the file is not known: it may be anything that the agent says.
        paths += facts.paths.hinted
        paths += [
            text for call in facts.calls for text in strings_in(call.arguments) if len(text) < _NAME_LIMIT
        ]
    for path in dict.fromkeys(paths):
        place, real = os.path.join(facts.root, path), facts.real_path(path)
        # An agent may cut a name at its NUL character.
        found: ExecutionFile | None = ExecutionFile("", "which file it names cannot be known")
        if ANYWHERE not in (path, real):
            found = find_execution(facts.root, place, os.path.join(facts.root, real))
        if found is not None:
            yield path, found
