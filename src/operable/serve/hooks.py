"""Hooks: a command or a webhook that gets a message when a question waits for a person, so that a phone can ring.

    [[hook]]                                # <config>/hooks.toml
    name = "phone"
    url = "https://push.example.org/operable"

A message says that there is a question and where it is answered: never its command, its arguments or its text, unless
`details` asks for them, and then redacted and cut. A webhook is signed as Standard Webhooks say (HMAC-SHA256 over id, time
and body); the id of a message is that of the question, so that a second delivery is known as one. A command gets the body
on its standard input, and a small environment.

Each hook has its own queue and its own task: a slow receiver delays no other one and no agent. What a queue has no room for
is dropped, oldest first; a delivery that fails is tried again a few times, unless the question has been answered.
"""

import asyncio
import base64
import binascii
import contextlib
import hashlib
import hmac
import os
import secrets
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec

from operable.flow.contracts import Surroundings
from operable.flow.manifest.profile_rules import is_safe_endpoint
from operable.flow.trust.http_exchange import ExchangeFailed, exchange
from operable.kernel.errors import Fail
from operable.kernel.redact import Redactor, redact_text
from operable.proc.run import aoutput
from operable.proc.spawn import prepare
from operable.serve.approvals import ApprovalView
from operable.serve.http.errors import log
from operable.state.atomic import advise, create_whole, open_private
from operable.state.paths import config_path

KEY_FILE: Final = "hook.key"
QUEUE: Final = 1000  # messages that wait for one hook; a person has stopped to answer long before
RETRIES: Final = (1.0, 5.0, 30.0, 120.0)  # seconds before each further try
_TIMEOUT = 30.0  # seconds of one try
_MOST_HOOKS = 32
_FILE_LIMIT = 256 * 1024
_OUTPUT_LIMIT = 64 * 1024  # of what a command prints, which is not kept
_CUT = 500  # characters of a text, with `details`
_PREFIX = "whsec_"
_REFUSED = range(400, 500)
_LATER = frozenset({408, 425, 429})  # of these, what another try may change
Moment = Literal["waiting", "answered"]


class Hook(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One hook: `url` or `command`. `on`: when a question begins to wait, or is answered; `key_file`: of a webhook."""

    name: str
    url: str | None = None
    command: tuple[str, ...] = ()
    on: tuple[Moment, ...] = ("waiting",)
    key_file: str | None = None
    details: bool = False


class HookView(msgspec.Struct, frozen=True, rename="camel"):
    """One hook and what became of its messages. `target` is a host or a program; the path of an address may be secret."""

    name: str
    kind: Literal["webhook", "command"]
    target: str
    on: tuple[Moment, ...]
    waiting: int
    delivered: int
    failed: int
    problem: str | None = None


class _HookFile(msgspec.Struct, forbid_unknown_fields=True):
    hook: list[Hook] = []


def load_hooks(path: str | None, targets: tuple[str, ...] = ()) -> list[Hook]:
    """The hooks of a file, by default the user's, and those of `--hook`. Raises Fail config/HOOKS_INVALID."""
    import tomllib

    wanted = path or config_path("hooks.toml") or ""
    found: list[Hook] = []
    try:
        with open(wanted, "rb") as file:
            text = file.read(_FILE_LIMIT + 1).decode("utf-8")
        if len(text) > _FILE_LIMIT:
            raise _invalid(wanted, f"it has more than {_FILE_LIMIT} bytes")
        found = msgspec.convert(tomllib.loads(text), _HookFile).hook
    except FileNotFoundError as error:
        if path is not None:
            raise _invalid(wanted, "there is no such file") from error
    except (OSError, ValueError, msgspec.ValidationError) as error:
        raise _invalid(wanted, str(error)) from error
    found += [_hook_of(target, f"hook-{number}") for number, target in enumerate(targets, 1)]
    for hook in found:
        if problem := _problem(hook):
            raise _invalid(wanted, f"{hook.name[:80]}: {problem}")
    if len({hook.name for hook in found}) < len(found) or len(found) > _MOST_HOOKS:
        raise _invalid(wanted, f"at most {_MOST_HOOKS} hooks, each with a name of its own")
    return found


def _hook_of(target: str, name: str) -> Hook:
    return Hook(name, url=target) if "://" in target else Hook(name, command=(target,))


def _problem(hook: Hook) -> str | None:
    if (hook.url is None) == (not hook.command):
        return "it has a url or a command"
    if hook.url is not None and not is_safe_endpoint(hook.url):
        return "the url is https (http on this machine only), without a user and a password"
    if hook.command and not os.path.isabs(hook.command[0]):
        return "the program is named by its absolute path"
    if hook.key_file is not None and hook.url is None:
        return "only a webhook has a key_file"
    return None if hook.name and hook.on else "it has a name, and `on` is not empty"


def _invalid(path: str, why: str) -> Fail:
    return Fail(
        "config", "HOOKS_INVALID", f"the hooks cannot be used: {why}", target=path, hint=f"edit {path}"
    )


def read_key(path: str, *, make: bool) -> bytes:
    """The key of a private file, `whsec_` and base64. `make`: a missing one is made.

    Raises Fail config/HOOK_KEY_UNUSABLE, io/STATE_UNWRITABLE.
    """
    if make and not os.path.lexists(path):
        text = f"{_PREFIX}{base64.b64encode(secrets.token_bytes(32)).decode()}\n"
        try:
            create_whole(path, text.encode())
        except OSError as error:
            message = f"the key of hooks cannot be kept: {error.strerror}"
            raise Fail("io", "STATE_UNWRITABLE", message, target=path, hint=advise(error)) from error
    try:
        with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
            is_private = os.fstat(file.fileno()).st_mode & 0o077 == 0
            text = file.read(1000).decode("ascii").strip()
        key = base64.b64decode(text.removeprefix(_PREFIX), validate=True)
    except (OSError, ValueError, binascii.Error) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not a key in base64"
        raise Fail("config", "HOOK_KEY_UNUSABLE", f"{path}: {why}", target=path) from error
    if len(key) < 24 or not is_private:
        why = "the key has fewer than 24 bytes" if is_private else "others can read it"
        raise Fail("config", "HOOK_KEY_UNUSABLE", f"{path}: {why}", target=path, hint=f"chmod 600 {path}")
    return key


def sign(key: bytes, message_id: str, at: int, body: bytes) -> dict[str, str]:
    """The headers of Standard Webhooks. `at` is in seconds."""
    signed = hmac.new(key, f"{message_id}.{at}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{base64.b64encode(signed).decode()}",
    }


class _Message(msgspec.Struct, frozen=True):
    """One thing to say. `question` is the id of the question."""

    question: str
    moment: Moment
    view: ApprovalView

    @property
    def id(self) -> str:
        return f"msg_{self.question.removeprefix('ask_')}_{self.moment}"


class _Delivery:
    """One hook at work."""

    def __init__(self, hook: Hook, folder: str, url: str) -> None:
        self.hook, self._url = hook, url
        self._key = b""
        if hook.url is not None:
            self._key = read_key(hook.key_file or os.path.join(folder, KEY_FILE), make=hook.key_file is None)
        self.waiting: deque[_Message] = deque(maxlen=QUEUE)
        self.delivered = self.failed = 0
        self.problem: str | None = None
        self._more = asyncio.Event()
        self._stale: set[str] = (
            set()
        )  # questions that were answered while their message waited for another try
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    def put(self, message: _Message) -> None:
        if message.moment == "answered":
            self._stale.add(message.question)
        if message.moment not in self.hook.on:
            return
        if len(self.waiting) == QUEUE:
            self.failed += 1
        self.waiting.append(message)
        self._more.set()

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            while self.waiting:
                message = self.waiting.popleft()
                await self._deliver(message)
                if not self.waiting:
                    self._stale.clear()
            self._more.clear()
            await self._more.wait()

    async def _deliver(self, message: _Message) -> None:
        for pause in (*RETRIES, None):
            if message.moment == "waiting" and message.question in self._stale:
                return
            problem, again = await self.send(message.id, f"approval.{message.moment}", self._data(message))
            if problem is None:
                return
            if not again or pause is None:
                self.failed += 1
                return
            await asyncio.sleep(pause)

    async def send(self, message_id: str, kind: str, data: dict[str, Any]) -> tuple[str | None, bool]:
        """Try once. Returns why it was not delivered, and whether another try may help."""
        body = msgspec.json.encode({"type": kind, "timestamp": _iso(time.time()), "data": data})
        try:
            send = self._run_command if self.hook.url is None else self._post
            self.problem, again = await send(message_id, kind, body)
        except (Fail, ExchangeFailed, OSError) as error:
            self.problem, again = redact_text(str(error))[:_CUT], True
        if self.problem is None:
            self.delivered += 1
        else:
            log.warning("the hook %s failed: %s", self.hook.name, self.problem)
        return self.problem, again

    async def _post(self, message_id: str, _kind: str, body: bytes) -> tuple[str | None, bool]:
        headers = {"content-type": "application/json", **sign(self._key, message_id, int(time.time()), body)}
        answer = await asyncio.to_thread(
            exchange,
            "POST",
            str(self.hook.url),
            headers=headers,
            body=body,
            around=Surroundings(os.getcwd(), network=True),
            timeout=_TIMEOUT,
        )
        if answer.ok:
            return None, False
        again = answer.status not in _REFUSED or answer.status in _LATER
        return f"the receiver answered HTTP {answer.status}", again

    async def _run_command(self, message_id: str, kind: str, body: bytes) -> tuple[str | None, bool]:
        env = {"OPERABLE_HOOK_ID": message_id, "OPERABLE_HOOK_TYPE": kind}
        command = prepare(list(self.hook.command), env=env, cwd="/")
        done = await aoutput(command, stdin=body, timeout=_TIMEOUT, limit=_OUTPUT_LIMIT)
        return (None, False) if done.status == 0 else (f"the command ended with {done.status}", True)

    def _data(self, message: _Message) -> dict[str, Any]:
        view = message.view
        data: dict[str, Any] = {
            "id": view.id,
            "source": view.source,
            "kind": view.kind,
            "agent": view.agent,
            "workspace": view.workspace,
            "tool": view.tool,
            "toolKind": view.tool_kind,
            "askedAt": view.asked_at,
            "url": f"{self._url}/#/inbox",
        }
        if message.moment == "answered":
            data |= {"allowed": view.allowed, "answeredBy": view.answered_by}
        if self.hook.details:
            shown = Redactor().command(view.command) if view.command else redact_text(view.text)
            data["text"] = shown[:_CUT]
        return data


class Hooks:
    """The hooks of a daemon. It belongs to one event loop."""

    def __init__(self, hooks: Sequence[Hook], folder: str, url: str) -> None:
        self._deliveries = [_Delivery(hook, folder, url) for hook in hooks]

    def start(self) -> None:
        for each in self._deliveries:
            each.start()

    def notify(self, view: ApprovalView) -> None:
        """A question waits, or was answered."""
        for each in self._deliveries:
            each.put(_Message(view.id, view.state, view))

    def views(self) -> list[HookView]:
        return [_view(each) for each in self._deliveries]

    async def test(self, name: str) -> HookView:
        """Send a message of the type `hook.test` at once. Raises Fail not_found/NO_SUCH_HOOK."""
        for each in self._deliveries:
            if each.hook.name == name:
                await each.send(f"msg_{secrets.token_hex(12)}", "hook.test", {"hook": name})
                return _view(each)
        raise Fail("not_found", "NO_SUCH_HOOK", "there is no such hook", target=name[:100], hint="GET /hooks")

    async def aclose(self) -> None:
        """Stop; what was not delivered is lost with the daemon, and a question that still waits is sent again."""
        for each in self._deliveries:
            await each.aclose()


def _view(delivery: _Delivery) -> HookView:
    hook = delivery.hook
    return HookView(
        hook.name,
        "command" if hook.url is None else "webhook",
        hook.command[0] if hook.url is None else urlsplit(hook.url).hostname or "",
        hook.on,
        len(delivery.waiting),
        delivery.delivered,
        delivery.failed,
        delivery.problem,
    )


def _iso(now: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
