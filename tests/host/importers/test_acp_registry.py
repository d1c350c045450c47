"""Entries of the ACP registry."""

import platform

from operable.host.importer import AgentDraft, Left, convert


def entry(**distribution):
    return {
        "id": "parrot",
        "name": "Parrot",
        "version": "2.1.0",
        "description": "Says what you say.",
        "authors": ["A"],
        "license": "MIT",
        "distribution": distribution,
    }


def only(found) -> AgentDraft:
    (made,) = convert("acp-registry", found, "registry.json")
    assert isinstance(made, AgentDraft)
    return made


def test_a_package_is_started_by_npx_or_uvx_with_its_arguments():
    made = only(
        {
            "version": "1.0.0",
            "agents": [entry(npx={"package": "@acme/parrot@2.1.0", "args": ["--acp"], "env": {"KEY": "x"}})],
        }
    )

    assert (made.manifest["bin"], made.manifest["bin_args"]) == (
        "npx",
        ["--yes", "@acme/parrot@2.1.0", "--acp"],
    )
    assert made.manifest["install"] == [{"method": "npm", "package": "npm"}]
    assert (made.manifest["version"], made.manifest["description"]) == ("2.1.0", "Says what you say.")
    assert made.manifest["sandbox"]["env"] == {"passthrough": ["KEY"]}

    made = only(entry(uvx={"package": "parrot==2.1.0"}))
    assert (made.manifest["bin"], made.manifest["bin_args"]) == ("uvx", ["parrot==2.1.0"])
    assert made.manifest["install"] == [{"method": "pip", "package": "uv"}]


def test_a_binary_is_a_download_for_this_platform_without_a_checksum(monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    archive = {"archive": "https://example.com/parrot.tar.gz", "cmd": "./bin/parrot", "args": ["acp"]}

    made = only(entry(binary={"linux-x86_64": archive, "darwin-aarch64": {**archive, "cmd": "other"}}))

    assert made.manifest["install"] == [
        {"method": "download", "url": "https://example.com/parrot.tar.gz", "extract_bin": "bin/parrot"}
    ]
    assert (made.manifest["bin"], made.manifest["bin_args"]) == ("parrot", ["acp"])
    assert made.manifest["requires"] == {"os": ["linux"], "arch": ["x64"]}
    assert any("checksum" in note for note in made.notes)


def test_an_agent_that_is_not_distributed_for_this_platform_is_left_out(monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: "Plan9")

    (made,) = convert("acp-registry", entry(binary={"linux-x86_64": {}}), "agent.json")

    assert isinstance(made, Left)
    assert "plan9" in made.why
