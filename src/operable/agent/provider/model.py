"""The contract between the agent's loop and a provider: one request in, a stream of pieces out.

`stream` is a blocking generator that the loop runs in a worker thread. It yields pieces as they arrive, and retries by
itself what may be retried (`Retrying` says so). It raises `ModelError` for what the user must know, and
`Cancelled` soon after its `Cancellation` is cancelled. Only the `MODEL` descriptor is loaded before the first request:
SDKs are imported by `stream`, not before `ready`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any, Literal, Protocol

from operable.agent.loop.cancellation import Cancellation
from operable.agent.session.history import HistoryTurn, Tokens
from operable.kernel.data_class import dataclass


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """A tool as the model sees it."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Everything that one model call depends on."""

    model: str
    turns: tuple[HistoryTurn, ...]
    system: str = ""
    tools: tuple[ToolOffer, ...] = ()
    max_tokens: int = 8192
    thinking_budget: int | None = None  # None: no extended thinking
    effort: str | None = None


@dataclass(frozen=True, slots=True)
class ModelText:
    text: str


@dataclass(frozen=True, slots=True)
class ModelThought:
    text: str
    signature: str = ""
    data: Any = None


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A complete tool call. `malformed` is the text that was not a JSON object; `arguments` is then empty."""

    call_id: str
    name: str
    arguments: Mapping[str, Any]
    malformed: str | None = None


@dataclass(frozen=True, slots=True)
class Retrying:
    message: str


@dataclass(frozen=True, slots=True)
class Used:
    """What this attempt has used so far, as far as the provider has said it: a running total, for answers that are cut."""

    tokens: Tokens


@dataclass(frozen=True, slots=True)
class Finished:
    """Last piece of a stream that went well."""

    reason: Literal["end", "tools", "max_tokens", "refusal"]
    tokens: Tokens


Piece = ModelText | ModelThought | ModelCall | Retrying | Used | Finished


class ModelError(Exception):
    """The provider refused or broke off; becomes a `provider_error` event. The message contains no secret."""

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        status: int | None = None,
        retry_after: float | None = None,
        overflow: bool = False,
    ) -> None:
        super().__init__(message)
        self.overflow = overflow  # the request is longer than the model's window
        self.message = message
        self.retryable = retryable
        self.status = status
        self.retry_after = retry_after


class ConfigurationError(Exception):
    """The provider cannot be used as configured (no key, no region…); a fatal `config_error`, reported before `ready`."""


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """Where to ask, and with which identity; never shown. `environment` is what the process was started with."""

    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


class ModelSession(Protocol):
    """A configured provider; made once per process, before `ready`, without I/O and without its SDK.

    Several streams may be under way at once, each in a thread of its own.
    """

    def prepare(self) -> None:
        """Load what the first request needs; called once, after `ready`, in a thread of its own. Raises nothing."""

    def stream(self, request: ModelRequest, cancellation: Cancellation) -> Iterator[Piece]: ...

    def close(self) -> None:
        """Release connections; called at the end, whether or not a stream is under way."""


@dataclass(frozen=True, slots=True)
class Model:
    """One provider."""

    name: str
    default_model: str
    configure: Callable[[ProviderSettings], ModelSession]  # ConfigurationError when something is missing
    # model id -> what is known about it; unknown models get cautious defaults
    context_window: Callable[[str], int]
    images: Callable[[str], Literal["supported", "unsupported", "unknown"]]
    thinking: bool
    effort_levels: tuple[str, ...] = ()
    # model id -> USD per million (input, output, cache read, cache write); None: not known
    price: Callable[[str], tuple[float, float, float, float] | None] = lambda _model: None
