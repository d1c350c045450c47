"""doctor: what it finds, and that a fresh installation is healthy."""

import os

import pytest


def failed(result):
    return {
        check["name"]: (check["severity"], check["detail"])
        for check in result.of("aoi:check")
        if not check["ok"]
    }


def test_a_fresh_installation_is_healthy_and_stays_untouched(outline):
    result = outline.ok("doctor")
    assert [check["name"] for check in result.of("aoi:check")] == [
        "config_file", "api_token", "database", "full_text_search", "permissions",
    ]  # fmt: skip
    assert failed(result) == {}
    assert not outline.directory.exists()


def test_a_store_with_notes_is_healthy(outline):
    outline.ok("create", "a")
    assert failed(outline.ok("doctor")) == {}


@pytest.mark.parametrize("config, token, expected", [("", "", {}), ('remote = "x"', "t", {}), ('remote = "x"', "", {"api_token": ("error", "missing")})])  # fmt: skip
def test_a_token_is_needed_only_for_a_remote(outline, config, token, expected):
    outline.directory.mkdir(mode=0o700)
    (outline.directory / "config.toml").write_text(config)
    result = outline("doctor", env={"OUTLINE_API_TOKEN": token})
    assert failed(result) == expected
    assert result.summary["ok"] is (not expected)


@pytest.mark.parametrize("config", [b"remote = ", b"\xff\xfe"])
def test_a_configuration_that_cannot_be_read_is_an_error(outline, config):
    outline.directory.mkdir(mode=0o700)
    (outline.directory / "config.toml").write_bytes(config)
    result = outline("doctor")
    assert failed(result)["config_file"][0] == "error"
    assert result.exit_code != 0


def test_the_token_is_never_shown(outline):
    result = outline.ok("doctor", env={"OUTLINE_API_TOKEN": "hunter2-very-secret"})
    assert "hunter2" not in str(result.events)
    assert "hunter2" not in result.stderr


def test_a_store_that_others_can_read_is_a_warning(outline):
    outline.ok("create", "a")
    os.chmod(outline.database, 0o644)
    result = outline.ok("doctor")
    assert failed(result)["permissions"][0] == "warning"
