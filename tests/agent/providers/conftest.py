from collections.abc import Iterator

import pytest

from operable.agent.provider import stream
from operable.testing.models import ModelServer


@pytest.fixture(autouse=True)
def _direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy between a test and its own server, and none of the developer's own accounts."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same number of tries, without the pauses between them."""
    monkeypatch.setattr(stream, "STREAM_DELAY", 0.01)
    monkeypatch.setattr(stream, "STATUS_DELAYS", (0.01,) * len(stream.STATUS_DELAYS))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as models:
        yield models
