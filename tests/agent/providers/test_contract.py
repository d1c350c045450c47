"""What holds for every entry of the catalogue of providers, whoever adds one."""

import subprocess
import sys

import pytest

from operable.agent.loop.cancellation import Cancellation, Cancelled
from operable.agent.provider.model import ConfigurationError, ModelRequest, ModelSession, ProviderSettings
from operable.agent.session.history import HistoryTurn, TextBlock
from tests.agent.providers.doors import DOORS, ENTRIES, KEY, environment, model


def configured(name: str) -> ModelSession:
    key = KEY if name == "vertex" else None
    return model(name).configure(ProviderSettings("http://127.0.0.1:9", key, environment(name)))


@pytest.mark.parametrize("name", ENTRIES)
def test_a_provider_is_called_like_its_file(name):
    assert model(name).name == name


@pytest.mark.parametrize("name", ENTRIES)
def test_a_provider_knows_its_own_default_model(name):
    provider = model(name)

    assert provider.context_window(provider.default_model) >= 128_000
    assert provider.images(provider.default_model) == "supported"
    price = provider.price(provider.default_model)
    assert price is not None
    assert len(price) == 4
    assert all(part >= 0 for part in price)


@pytest.mark.parametrize("name", DOORS)
def test_a_provider_is_cautious_about_a_model_that_it_does_not_know(name):
    provider = model(name)

    assert 32_000 <= provider.context_window("somebody/elses-model") <= 200_000
    assert provider.price("somebody/elses-model") is None


@pytest.mark.parametrize(
    "name, told",
    [
        ("anthropic", "ANTHROPIC_API_KEY not set"),
        ("openai", "OPENAI_API_KEY not set"),
        ("openai-responses", "OPENAI_API_KEY not set"),
        ("bedrock", "AWS_REGION not set"),
        ("vertex", "VERTEX_PROJECT_ID and VERTEX_REGION not set"),
    ],
)
def test_a_provider_says_which_variable_is_missing(name, told):
    with pytest.raises(ConfigurationError, match=told):
        model(name).configure(ProviderSettings())


@pytest.mark.parametrize("name", DOORS)
def test_every_variable_of_a_provider_is_needed(name, tmp_path):
    credentials = tmp_path / "account.json"
    credentials.write_text("{}")
    whole = {**environment(name, credentials), "HOME": str(tmp_path)}
    model(name).configure(ProviderSettings("http://127.0.0.1:9", None, whole)).close()

    for left_out in environment(name):
        rest = {key: value for key, value in whole.items() if key != left_out}
        with pytest.raises(ConfigurationError, match=left_out):
            model(name).configure(ProviderSettings("http://127.0.0.1:9", None, rest))


@pytest.mark.parametrize(
    "url", ["example.org", "ftp://example.org", "https://", "http://a:b", "http://[", "\x00"]
)
@pytest.mark.parametrize("name", DOORS)
def test_an_address_that_is_none_is_refused_before_the_first_request(name, url):
    key = KEY if name == "vertex" else None
    with pytest.raises(ConfigurationError, match="base URL"):
        model(name).configure(ProviderSettings(url, key, environment(name)))


@pytest.mark.parametrize("name", DOORS)
def test_an_sdk_is_not_loaded_before_the_first_request(name):
    program = (
        "import sys; from operable.kernel import catalogue; from operable.agent.provider.model import ProviderSettings;"
        "model = catalogue.load('operable.agent.providers', sys.argv[1], 'MODEL');"
        "session = model.configure(ProviderSettings('http://127.0.0.1:9', sys.argv[2] or None, eval(sys.argv[3])));"
        "heavy = 'anthropic', 'openai', 'boto3', 'google.oauth2', 'httpx2', 'asyncio', 'ssl';"
        "print([name for name in heavy if name in sys.modules]); session.close()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, name, KEY if name == "vertex" else "", repr(environment(name))],
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )

    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ENTRIES)
def test_a_cancelled_run_asks_nothing(name):
    session = configured(name) if name in DOORS else model(name).configure(ProviderSettings())
    cancellation = Cancellation()
    cancellation.cancel()

    with pytest.raises(Cancelled):
        list(
            session.stream(
                ModelRequest("a-model", (HistoryTurn("user", (TextBlock("Hello"),)),)), cancellation
            )
        )
    session.close()


@pytest.mark.parametrize("name", ENTRIES)
def test_a_session_may_be_closed_at_any_time_and_twice(name):
    session = configured(name) if name in DOORS else model(name).configure(ProviderSettings())

    session.close()
    session.prepare()
    session.close()


def test_keys_do_not_show_in_the_representation_of_what_holds_them():
    settings = ProviderSettings("http://127.0.0.1:9", KEY, {"OPENAI_API_KEY": KEY})

    assert KEY not in repr(settings)
