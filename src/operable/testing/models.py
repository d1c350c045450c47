"""A model server on loopback that speaks the vendors' real formats and says what a script says.

For tests of agents, of hosts that drive agents, and of model clients: no network, no key, the same every time. It answers
in every dialect of `operable.testing.dialects` (Anthropic also as Vertex and Bedrock carry it, OpenAI chat completions and
responses, Gemini), streaming or not, on one port:

    with ModelServer({"greet": [[{"say": "Hello", "chunks": 3}]]}) as models:
        ...  # point the client at models.url; a prompt with SCRIPT:greet gets that
        models.wait(lambda exchange: exchange.outcome == "disconnected")

or as a process of its own, which prints its address and lives until its stdin ends:
`python -m operable.testing.models --port 0 --script FILE`. `GET /_exchanges` lists there what was asked.

A script is a list of replies, one per request that the agent makes for a prompt; a reply is a list of steps. A prompt
names a script (`SCRIPT:greet`) or brings it (`SCRIPT:[{"say":"Hello"}]` for one reply, `SCRIPT:[[…],[…]]` for several);
after the last reply, and without a marker, the default is given. Steps:

    say TEXT (chunks, delay)     think TEXT (chunks, delay)     a text or a list of pieces; delay: seconds between them
    call ROLE (args, id)         write {path, text}, shell {command}, read {path}, fetch {url}, delete {path}, in the words
                                 of whichever tools are offered; or a tool by its exact name with its exact arguments;
                                 several are parallel
    usage {input, output, cache_read, cache_write, thinking}     end REASON (stop, max_tokens, refusal)
    wait SECONDS                 hang true (until the client goes away)
    drop "cut" | "end"           the connection closed in the middle, or a proper end of HTTP without that of the reply
    raw TEXT                     exactly this into the stream, malformed or not
    fail KIND (message)          the vendor's error event inside the stream
    status CODE (headers, message, times)      an error instead of a reply; with `times`, only so often

A conversation that breaks the rules of the vendor whose dialect it speaks (a call without a result, roles out of order, an
empty block) is refused with status 400, in the vendor's words: `operable.testing.vendor_rules`; `strict=False` accepts
everything. With `window`, so is a request that a model with a window of so many tokens could not take, and usage says how
large a request was.

Requests that are not a turn of the conversation (agents ask for titles and summaries on their own) are recognised by
offering no tools and by their instructions, answered with a few words, and marked `aside`.
"""

import asyncio
import contextlib
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from operable.kernel.catalogue import load, names
from operable.testing import dialects, vendor_rules
from operable.testing.dialect import Dialect, ScriptPosition, position
from operable.testing.exchange import Exchange
from operable.testing.http_edge import EdgeRequest, Reply, serve
from operable.testing.model_reply import VERBS, Playing
from operable.testing.script import ScriptError, Step, check_steps

Replies = list[list[Step]]

DEFAULT: Replies = [[{"say": "Hello from the scripted model.", "chunks": 4}]]
WAIT_LIMIT = 30.0
_ASIDE = re.compile(
    r"\b(title|summar\w+|topic|session name|conversation name|next speaker|suggest\w*)\b", re.IGNORECASE
)


class ModelServer:
    """Starts listening when made; `close` it, or use it in a `with` statement. Safe to use from any thread."""

    def __init__(
        self,
        scripts: Mapping[str, Replies] | None = None,
        *,
        default: Replies = DEFAULT,
        host: str = "127.0.0.1",
        port: int = 0,
        strict: bool = True,
        window: int | None = None,
    ) -> None:
        self._scripts = {name: _replies(script) for name, script in (scripts or {}).items()}
        self._default = _replies(default)
        self._attempts: dict[tuple[Any, ...], int] = {}
        self._is_strict, self._window = strict, window
        self.exchanges: list[Exchange] = []
        """what was asked, oldest first"""
        self._changed = threading.Condition()
        self._dialects: dict[str, Dialect] = {
            name: load(dialects.__name__, name, "DIALECT", kind="dialect")
            for name in names(dialects.__path__[0])
        }
        self._loop = asyncio.new_event_loop()
        # A thread of its own: the user of the server may have a loop running, or may block.
        self._thread = threading.Thread(target=self._loop.run_forever, name="model-server", daemon=True)
        self._thread.start()
        listening = asyncio.run_coroutine_threadsafe(serve(self._answer, host, port), self._loop)
        self._server = listening.result(WAIT_LIMIT)
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.url = f"http://{host}:{self.port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening and end every conversation; may be called twice."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._aclose(), self._loop).result(WAIT_LIMIT)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(WAIT_LIMIT)
        self._loop.close()

    async def _aclose(self) -> None:
        self._server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def wait(self, wanted: Callable[[Exchange], bool], timeout: float = WAIT_LIMIT) -> Exchange:
        """The first exchange that is as wanted, now or within the time; else `TimeoutError`."""
        with self._changed:
            found: list[Exchange] = []

            def look() -> bool:
                found[:] = [exchange for exchange in self.exchanges if wanted(exchange)]
                return bool(found)

            if not self._changed.wait_for(look, timeout):
                seen = [(exchange.path, exchange.outcome) for exchange in self.exchanges[-5:]]
                raise TimeoutError(f"no such exchange within {timeout} s; the last ones: {seen}")
            return found[0]

    async def _answer(self, request: EdgeRequest, reply: Reply) -> None:
        if request.path == "/_exchanges":
            await reply.whole(200, [exchange.document() for exchange in self.exchanges])
            return
        for name, dialect in self._dialects.items():
            if dialect.matches(request):
                await self._reply(name, dialect, request, reply)
                return
        other = next(
            (found for d in self._dialects.values() if (found := d.other(request)) is not None), None
        )
        if other is None:
            await reply.whole(404, {"error": {"message": f"nothing at {request.method} {request.path}"}})
        else:
            await reply.whole(200, other)

    async def _reply(self, name: str, dialect: Dialect, request: EdgeRequest, reply: Reply) -> None:
        try:
            asked = dialect.read(request)
            at = position(asked)
            exchange = Exchange(len(self.exchanges) + 1, request, name, asked, at)
            steps = self._refusal(dialect, exchange) or self._steps(exchange)
        except ScriptError as error:
            # The client must not take this for a failure that it could retry.
            await reply.whole(400, dialect.failure(400, f"script: {error}"))
            return
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            await reply.whole(400, dialect.failure(400, f"not a request of this form: {error!r}"))
            return
        with self._changed:
            self.exchanges.append(exchange)
        try:
            with self._ending(exchange):
                await Playing(dialect, asked, reply, exchange).play(steps)
        except ConnectionError:
            pass  # the outcome says it

    @contextlib.contextmanager
    def _ending(self, exchange: Exchange) -> Iterator[None]:
        try:
            yield
            if exchange.outcome == "open":
                exchange.outcome = "completed" if exchange.status < 400 else "failed"
        except (ConnectionError, asyncio.CancelledError):
            exchange.outcome = "disconnected"
            raise
        finally:
            with self._changed:
                self._changed.notify_all()

    def _steps(self, exchange: Exchange) -> list[Step]:
        asked, at = exchange.asked, exchange.position
        if not asked.tools and _ASIDE.search(asked.system[:4000]):
            exchange.aside = True
            return [{"say": "Scripted title"}]
        steps = self._reply_at(at)
        if self._window is not None and not any("usage" in step for step in steps):
            steps = [*steps, {"usage": {"input": vendor_rules.tokens(exchange.body)}}]
        key = (json.dumps(at.script), at.round, asked.prompt)
        attempt = self._attempts[key] = self._attempts.get(key, 0) + 1
        return [step for step in steps if "status" not in step or attempt <= step.get("times", attempt)]

    def _refusal(self, dialect: Dialect, exchange: Exchange) -> list[Step]:
        """What the vendor would refuse: a conversation that breaks its rules, or that its model cannot contain."""
        problem = dialect.refuses(exchange.body) if self._is_strict else None
        if problem is None and self._window is not None:
            is_anthropic = dialect.refuses is vendor_rules.anthropic
            problem = vendor_rules.overflow(exchange.body, self._window, is_anthropic=is_anthropic)
        return [] if problem is None else [{"status": 400, "message": problem}]

    def _reply_at(self, at: ScriptPosition) -> list[Step]:
        if at.script is None:
            return self._default[0]
        if isinstance(at.script, str) and at.script not in self._scripts:
            raise ScriptError(
                f"no script is called {at.script!r}; known: {', '.join(self._scripts) or 'none'}"
            )
        replies = self._scripts[at.script] if isinstance(at.script, str) else _replies(at.script)
        return replies[at.round] if at.round < len(replies) else self._default[0]


def _replies(script: list[Any]) -> Replies:
    """A script as a list of replies; a plain list of steps is one reply."""
    replies = [script] if script and isinstance(script[0], dict) else script
    if not replies:
        raise ScriptError("a script has at least one reply")
    return [check_steps(reply, VERBS) for reply in replies]


def main(arguments: list[str]) -> int:
    from argparse import ArgumentParser

    parser = ArgumentParser(prog="models", description="A scripted model server on loopback.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", metavar="FILE", help='{"name": [[steps of a reply], ...], ...}')
    options = parser.parse_args(arguments)
    scripts = {}
    if options.script:
        with open(options.script, encoding="utf-8") as file:
            scripts = json.load(file)
    with ModelServer(scripts, port=options.port) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
