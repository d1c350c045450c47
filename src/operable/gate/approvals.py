"""The queue of approvals: questions that wait for an answer, from whichever surface gives it first.

Theory of operation. An `Ask` is put into the queue, and as a file into the session's folder. So a callback, this
process's own interface and other processes (`operable agent …`) see the same list. An answer is also a file, made with
`link`, which the file system lets only one party do: that party's answer counts, and a later one gets an error. No answer
within the limit is a denial, made the same way. A decision is bound to the digest of what was asked: a caller that
answers may say which digest it has seen, and an answer to something else is refused, also when it is in a file. The files
of a question are named after its id, digest and limit, so that a file of an earlier question with the same id answers
nothing. A file in the place of an answer that is none is set aside and reported (`on_damaged`); the question goes on to
other answers and to its limit.

Answers are plain `Decision` values; turning them into a protocol's words is for the arm.
"""

import asyncio
import contextlib
import hashlib
import inspect
import os
import shutil
import stat
import time
from collections.abc import Callable
from typing import Any

import msgspec

from operable.kernel.canonical import digest
from operable.kernel.errors import Fail
from operable.kernel.redact import Known
from operable.state.atomic import create_whole, move, write_whole
from operable.wire.events import Choice

# Long enough to fetch a cup of coffee, short enough that a forgotten session does not hold an agent for the night.
TIMEOUT = 300.0
# Answers of other processes are files; a person does not notice a tenth of a second.
POLL_INTERVAL = 0.1
_FOLDER = "asks"
_ANSWER_LIMIT = 1024 * 1024  # bytes; a completed form has a few thousand
_ASK_LIMIT = 256 * 1024 * 1024  # bytes; a question shows the whole files that it is about
ONCE = "allow_once"


class Ask(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A question. `kind`: permission (of a tool call), input (of the user), budget (a limit was reached)."""

    id: str
    session_id: str
    kind: str
    text: str = ""
    tool: str = ""
    tool_kind: str = "other"
    arguments: Any = None
    options: tuple[Choice, ...] = ()
    schema: Any = None
    url: str | None = None
    digest: str = ""
    expires_at: int = 0  # milliseconds since 1970
    # Why no rule answered it.
    why: str = ""
    diffs: tuple[dict[str, Any], ...] = ()  # changes that the agent shows beside the arguments
    locations: tuple[
        str, ...
    ] = ()  # places that it lists beside both; a yes does not let the host write there
    announced: tuple[dict[str, Any], ...] = ()  # what it said of the call before and does not ask about
    asked_at: int = 0  # milliseconds since 1970
    caller: str = ""  # who makes a call that is not of a session (`operable.gate.call_gate`)
    folder: str = ""  # the folder that such a call is made from
    command: str = ""  # the command line that it would run
    effect: str = ""  # read, change, destroy or unknown, as the owner of the called thing declares it


class Decision(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """An answer. `remember`: "" this time only, "call" for the same call again in this session, else a policy pattern."""

    allowed: bool
    reason: str = ""
    by: str = ""
    option_id: str | None = None
    content: Any = None
    remember: str = ""
    digest: str = ""
    cancelled: bool = False


OnAsk = Callable[
    [Ask], Any
]  # may return a Decision, a bool, None (leave it to others), or an awaitable of these
_ASK, _DECISION = msgspec.json.Decoder(Ask), msgspec.json.Decoder(Decision)


def argument_digest(tool: str, arguments: Any) -> str:
    """What a decision is bound to: the tool and its arguments, whatever order and spacing they came in."""
    try:
        return digest({"tool": tool, "arguments": arguments})
    except (TypeError, ValueError):
        return digest({"tool": tool, "arguments": msgspec.json.encode(arguments).decode()})


class ApprovalQueue:
    """The open questions of one session. Belongs to the session's loop."""

    def __init__(
        self,
        folder: str,
        *,
        timeout: float = TIMEOUT,
        on_ask: OnAsk | None = None,
        secrets: Known | None = None,
    ) -> None:
        self._known = secrets if secrets is not None else Known()
        self.timeout = timeout
        self._folder = os.path.join(folder, _FOLDER)
        self._on_ask = on_ask
        self._open: dict[str, tuple[Ask, asyncio.Future[Decision]]] = {}
        self._damaged: set[str] = set()  # questions with an answer that could be neither read nor moved
        self.on_damaged: Callable[[str, str], object] = lambda _ask_id, _text: None
        self.on_change: Callable[[], object] = lambda: None  # a question is open, or no longer
        self._poll: asyncio.TimerHandle | None = None

    @property
    def pending(self) -> list[Ask]:
        return [ask for ask, _ in self._open.values()]

    async def ask(self, ask: Ask) -> Decision:
        """Put a question into the queue and wait for its answer."""
        self.put(ask)
        return await self.wait(ask.id)

    def put(self, ask: Ask) -> None:
        """Put a question into the queue: from now on it can be answered. Fail io/STATE_UNWRITABLE: it was not put there."""
        now = time.time()
        ask = msgspec.structs.replace(
            ask, asked_at=int(now * 1000), expires_at=int((now + self.timeout) * 1000)
        )
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            data = msgspec.json.encode(self._known.value(msgspec.to_builtins(ask)))
            _remove(_place(self._folder, ask, ".answer"))
            # A question ends with the process that asks it, so a power cut may undo it.
            write_whole(_place(self._folder, ask, ".ask"), data, durable=False)
        except OSError as error:
            raise _unwritable("a question", ask.id, error) from error
        self._open[ask.id] = (ask, asyncio.get_running_loop().create_future())
        self._watch()
        self.on_change()

    async def wait(self, ask_id: str) -> Decision:
        """Until it is answered: by `answer`, by the callback, from another process, or the denial when time is over."""
        loop = asyncio.get_running_loop()
        ask, future = self._open[ask_id]
        asked = None if self._on_ask is None else loop.create_task(self._call_back(ask))
        late = loop.call_later(self.timeout, self._expire, ask_id)
        try:
            return await future
        finally:
            late.cancel()
            if asked is not None:
                asked.cancel()
            self._close(ask_id)

    def answer(self, ask_id: str, decision: Decision) -> None:
        """Answer from this process. Fail not_found/NO_SUCH_ASK, conflict/ALREADY_ANSWERED, conflict/ASK_CHANGED."""
        entry = self._open.get(ask_id)
        if entry is None:
            raise _no_such(ask_id)
        ask, future = entry
        _claim(self._folder, ask, decision)
        if not future.done():
            future.set_result(decision)

    def withdraw(self, ask_id: str | None = None, reason: str = "the agent no longer waits for it") -> None:
        """The question is moot (turn cancelled, agent gone): a waiting caller gets a cancelled denial."""
        for known in [ask_id] if ask_id is not None else list(self._open):
            if known in self._open:
                self._refuse(known, Decision(False, reason, by="host", cancelled=True))

    def close(self) -> None:
        """The session is over: nothing is asked any more, and late answers find nothing."""
        self.withdraw()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _expire(self, ask_id: str) -> None:
        self._refuse(ask_id, Decision(False, f"no answer within {self.timeout:g} s", by="timeout"))

    def _refuse(self, ask_id: str, no: Decision) -> None:
        """The host's own denial, if no other answer was faster; it needs no file, so that nothing on disk keeps a
        question open.
        """
        try:
            self.answer(ask_id, no)
        except (Fail, OSError):
            self._look(ask_id)  # another process was faster: that answer is in the file
            entry = self._open.get(ask_id)
            if entry is not None and not entry[1].done():
                entry[1].set_result(no)

    async def _call_back(self, ask: Ask) -> None:
        if self._on_ask is None:
            return
        try:
            said = self._on_ask(ask)
            if inspect.isawaitable(said):
                said = await said
        except Exception as error:  # noqa: BLE001 - the caller's own code: what it cannot answer is a denial
            said = Decision(False, f"the callback failed: {type(error).__name__}", by="callback")
        if said is None or ask.id not in self._open:
            return
        decision = said if isinstance(said, Decision) else Decision(bool(said), by="callback")
        try:
            _check_option(ask, decision)
        except (
            Fail
        ) as problem:  # an approval that says too little is not one, and no further answer would come
            decision = Decision(False, problem.message, by="callback")
        try:
            self.answer(ask.id, decision)
        except Fail as problem:  # another process was faster, or no answer can be kept: then it is a denial
            self._refuse(ask.id, Decision(False, problem.message, by="host"))

    def _watch(self) -> None:
        if self._poll is None and self._open:
            self._poll = asyncio.get_running_loop().call_later(POLL_INTERVAL, self._look_at_all)

    def _look_at_all(self) -> None:
        self._poll = None
        for ask_id in list(self._open):
            self._look(ask_id)
        self._watch()

    def _look(self, ask_id: str) -> None:
        """Take an answer that another process has put into the folder."""
        entry = self._open.get(ask_id)
        if entry is None:
            return
        try:
            decision = _answered(self._folder, entry[0])
        except _DamagedError as damaged:
            if damaged.moved or ask_id not in self._damaged:
                self.on_damaged(ask_id, str(damaged))
            self._damaged.add(ask_id)
            return
        if decision is not None and not entry[1].done():
            entry[1].set_result(decision)

    def _close(self, ask_id: str) -> None:
        if (entry := self._open.pop(ask_id, None)) is not None:
            _remove(_place(self._folder, entry[0], ".ask"))
        if not self._open and self._poll is not None:
            self._poll.cancel()
            self._poll = None
        self.on_change()


def pending_asks(session_folder: str) -> list[Ask]:
    """The open questions of a session, from any process; oldest first."""
    folder = os.path.join(session_folder, _FOLDER)
    found: list[Ask] = []
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    for name in names:
        if name.endswith(".ask"):
            try:
                found.append(_ASK.decode(_content(os.path.join(folder, name), _ASK_LIMIT)))
            except (OSError, msgspec.MsgspecError):
                continue  # answered meanwhile, or no question of ours: it must not hide the others
    return sorted(found, key=lambda ask: (ask.expires_at, ask.id))


def answer_ask(session_folder: str, ask_id: str, decision: Decision) -> Ask:
    """Answer from another process; the question that was answered. Fails as `ApprovalQueue.answer` does."""
    for ask in pending_asks(session_folder):
        if ask.id == ask_id:
            _claim(os.path.join(session_folder, _FOLDER), ask, decision)
            return ask
    raise _no_such(ask_id)


def _claim(folder: str, ask: Ask, decision: Decision) -> None:
    """Make this the answer, if no other process has answered."""
    _check_option(ask, decision)
    _check_digest(ask, decision)
    try:
        with contextlib.suppress(_DamagedError):
            _answered(folder, ask)  # an answer that cannot be read does not stay in the way of this one
        create_whole(_place(folder, ask, ".answer"), msgspec.json.encode(decision))
    except FileExistsError:
        other = None
        with contextlib.suppress(_DamagedError):
            other = _answered(folder, ask)
        by = "another process" if other is None or not other.by else other.by
        raise Fail("conflict", "ALREADY_ANSWERED", f"{by} has already answered", target=ask.id) from None
    except OSError as error:
        raise _unwritable("an answer", ask.id, error) from error


def _check_digest(ask: Ask, decision: Decision) -> None:
    if decision.digest and decision.digest != ask.digest:
        raise Fail(
            "conflict",
            "ASK_CHANGED",
            "the answer is for a different question",
            target=ask.id,
            hint="look at the question again",
        )


def needs_option(options: tuple[Choice, ...]) -> bool:
    """Must the user choose by name? Only one plain one-time permission may be taken without being looked at."""
    return bool(options) and sum(choice.kind == ONCE for choice in options) != 1


def _check_option(ask: Ask, decision: Decision) -> None:
    offered = ", ".join(f"{choice.id} ({choice.name})" for choice in ask.options)
    if decision.option_id is not None and decision.option_id not in {choice.id for choice in ask.options}:
        raise Fail(
            "usage",
            "NO_SUCH_OPTION",
            f"there is no option {decision.option_id!r}",
            hint=f"Offered: {offered}",
        )
    if (
        decision.allowed
        and decision.option_id is None
        and ask.kind == "permission"
        and needs_option(ask.options)
    ):
        raise Fail(
            "usage",
            "OPTION_REQUIRED",
            "this agent offers no plain one-time permission: say which option",
            target=ask.id,
            hint=f"Offered: {offered}",
        )


def _answered(folder: str, ask: Ask) -> Decision | None:
    """The answer in the folder, if there is one. What does not answer it is set aside: _DamagedError says where."""
    path = _place(folder, ask, ".answer")
    try:
        decision = _DECISION.decode(_content(path, _ANSWER_LIMIT))
        _check_option(ask, decision)
        _check_digest(ask, decision)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _set_aside(path, error.strerror or str(error)) from error
    except msgspec.MsgspecError as error:
        raise _set_aside(path, "it is not an answer") from error
    except Fail as problem:
        raise _set_aside(path, problem.message) from problem
    return decision


def _content(path: str, limit: int) -> bytes:
    """Of a regular file. OSError for a link or a FIFO: a reader must not wait, nor read something else."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is not a file")
        if status.st_size > limit:
            raise OSError(f"it has more than {limit} bytes")
        return file.read(limit)


class _DamagedError(Exception):
    def __init__(self, text: str, *, moved: bool) -> None:
        super().__init__(text)
        self.moved = moved


def _set_aside(path: str, why: str) -> _DamagedError:
    aside = f"{path}.damaged.{os.urandom(4).hex()}"
    try:
        move(path, aside)
    except OSError:
        return _DamagedError(f"an answer cannot be read ({why}), nor set aside", moved=False)
    return _DamagedError(f"an answer cannot be read ({why}); it is now {os.path.basename(aside)}", moved=True)


def _place(folder: str, ask: Ask, suffix: str) -> str:
    """A file of this question and of no other one. Ids come from agents: they are never a file name as they are."""
    identity = f"{ask.id}\0{ask.digest}\0{ask.expires_at}"
    name = hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:24]
    return os.path.join(folder, name + suffix)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):  # what is left of a question in a folder that is gone has no owner
        os.unlink(path)


def _unwritable(what: str, ask_id: str, error: OSError) -> Fail:
    return Fail(
        "io",
        "STATE_UNWRITABLE",
        f"{what} cannot be kept: {error.strerror}",
        target=ask_id,
        # Not another place: the session waits at this one.
        hint="free space on the disk of the sessions, then answer again: operable agent approvals",
    )


def _no_such(ask_id: str) -> Fail:
    return Fail("not_found", "NO_SUCH_ASK", "no such question is open", target=ask_id)
