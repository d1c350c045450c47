import pytest

from operable.manifest import AcpProfile
from tests.manifest.samples import changed, errors, loaded


def profile(**aip44: object) -> AcpProfile:
    return loaded("acp", changed("acp", metadata={"aip44": {"acp_rev": "0123abc", **aip44}})).as_(AcpProfile)


def test_one_transport_and_a_list_of_them_are_read_alike():
    assert loaded("acp", changed("acp", transport="stdio")).value.transport == ("stdio",)
    assert loaded("acp", changed("acp", transport=["stdio", "websocket"])).value.transport == (
        "stdio",
        "websocket",
    )


def test_stdio_is_mandatory():
    assert errors("acp", changed("acp", transport=["websocket"])) == [("ACP_NO_STDIO", "transport")]


def test_a_sandboxed_tier_names_its_sandbox():
    data = changed("acp", metadata={"aip44": {"acp_rev": "0123abc", "tier": "sandboxed"}})

    assert errors("acp", data) == [("FIELD_MISSING", "metadata.aip44.sandbox")]


@pytest.mark.parametrize(
    "tier, load_session, mcp",
    [("basic", False, False), ("governance-aware", True, False), ("sandboxed", True, True)],
)
def test_a_tier_implies_capabilities(tier, load_session, mcp):
    agent = profile(tier=tier, sandbox="./SANDBOX.md").capabilities().agent

    assert (agent.load_session, agent.mcp_capabilities.http) == (load_session, mcp)


@pytest.mark.parametrize("tier", ["basic", "governance-aware"])
def test_no_tier_gives_the_agent_files_or_a_terminal_of_the_host(tier):
    client = profile(tier=tier).capabilities().client

    assert (client.fs.read_text_file, client.fs.write_text_file, client.terminal) == (False, False, False)


def test_explicit_capabilities_override_the_tier_and_what_they_omit_is_unsupported():
    agent = profile(
        tier="sandboxed", sandbox="./S.md", capabilities={"agent": {"promptCapabilities": {"image": True}}}
    )

    assert agent.capabilities().agent.prompt_capabilities.image
    assert not agent.capabilities().agent.load_session


@pytest.mark.parametrize("revision", ["abc", "g" * 8, "A" * 8, "a" * 41])
def test_a_revision_is_a_commit(revision):
    data = changed("acp", metadata__aip44__acp_rev=revision)

    assert errors("acp", data) == [("FIELD_FORM", "metadata.aip44.acp_rev")]


def test_keys_of_others_are_allowed_where_the_draft_leaves_room():
    data = changed("acp", x_vendor=1, metadata__vendor={"a": 1}, metadata__aip44__note="x")

    assert loaded("acp", data).data["metadata"]["vendor"] == {"a": 1}
