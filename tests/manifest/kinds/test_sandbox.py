import pytest

from operable.manifest.blocks import SandboxBlock
from tests.manifest.samples import changed, errors, loaded, problems, warnings


def test_a_sandbox_file_has_defaults_that_allow_nothing():
    sandbox = loaded("sandbox", {"provider": "local", "config": {}}).as_(SandboxBlock)

    assert sandbox.network.egress == ()
    assert sandbox.env.passthrough == ()
    assert sandbox.mounts == ()
    assert loaded("sandbox").as_(SandboxBlock).mounts[0].mode == "read-write"


@pytest.mark.parametrize(
    "at", ["work", "./work", "/work/../etc", "/..", "/work/", "/a//b", "/a/./b", "//work"]
)
def test_a_mount_stands_at_an_absolute_and_normalised_path(at):
    data = changed("sandbox", mounts=[{"source": "workspace", "at": at}])

    assert errors("sandbox", data) == [("MOUNT_PATH", "mounts.0.at")]


def test_two_mounts_do_not_stand_at_one_path():
    mount = {"source": "workspace", "at": "/work"}

    assert errors("sandbox", changed("sandbox", mounts=[mount, mount])) == [("MOUNT_TWICE", "mounts.1.at")]


@pytest.mark.parametrize("source", ["home", {}, {"ref": "a", "file": "b"}, {"path": "x"}])
def test_a_mount_has_one_known_source(source):
    data = changed("sandbox", mounts=[{"source": source, "at": "/work"}])

    assert {key.split(".")[2] for _, key in errors("sandbox", data)} == {"source"}


@pytest.mark.parametrize(
    "host", ["https://example.com", "example.com/path", "exa mple", "", "*example.com", "a..b"]
)
def test_what_may_be_reached_is_a_host(host):
    data = changed("sandbox", network={"egress": [host]})

    assert errors("sandbox", data) == [("EGRESS_HOST", "network.egress.0")]


@pytest.mark.parametrize(
    "host", ["example.com", "*.example.com", "*", "localhost", "10.0.0.1", "[::1]:8080", "a.b:443"]
)
def test_hosts_globs_and_ports_are_allowed(host):
    assert problems("sandbox", changed("sandbox", network={"egress": [host]})) == []


@pytest.mark.parametrize(
    "config", [{"api_key": "sk-x"}, {"nested": {"password": "x"}}, {"list": [{"auth_token": "x"}]}]
)
def test_credentials_in_plain_text_are_refused_and_not_repeated(config):
    found = problems("sandbox", changed("sandbox", config=config))

    assert [each.rule for each in found] == ["SANDBOX_PLAINTEXT"]
    assert "sk-x" not in str(found[0])


@pytest.mark.parametrize(
    "provider, config",
    [
        ("mastra-e2b", {"template": "t", "api_key_ref": "acme/e2b"}),
        ("mastra-modal", {"app_name": "a", "function_name": "f", "api_token_ref": "acme/modal"}),
        ("mastra-daytona", {"workspace_id": "w", "api_key_ref": "acme/daytona"}),
        ("mastra-blaxel", {"workspace": "w", "api_key_ref": "acme/blaxel"}),
    ],
)
def test_a_provider_needs_its_configuration(provider, config):
    assert problems("sandbox", changed("sandbox", provider=provider, config=config)) == []

    missing = errors("sandbox", changed("sandbox", provider=provider, config={}))

    assert missing == [("SANDBOX_CONFIG", f"config.{name}") for name in sorted(config)]


def test_a_provider_that_nobody_knows_is_a_warning_here_because_hosts_register_their_own():
    assert warnings("sandbox", changed("sandbox", provider="cloud9")) == [
        ("SANDBOX_PROVIDER_UNKNOWN", "provider")
    ]


@pytest.mark.parametrize("changes", [{"id": "strict"}, {"schema": "sandbox/v2"}, {"version": "1"}])
def test_the_identity_of_a_file_has_its_form(changes):
    assert len(errors("sandbox", changed("sandbox", **changes))) == 1
