"""Plans are kept while the manifests stay the same, and made again when anything changes or cannot be trusted."""

import os
import sys
from pathlib import Path

import pytest

from operable.kernel.errors import Fail
from operable.manifest import render
from operable.wrap import places
from operable.wrap.plan import cache, manifests
from tests.wrap.drive import CLI, TOOL, Made


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))
    return Made(tmp_path, "#!/bin/sh\n")


def kept(tmp_path) -> list[Path]:
    return list((tmp_path / "home" / "cache" / "wrappers").iterdir())


def test_a_plan_is_read_once(made, tmp_path, monkeypatch):
    first = cache.plan_of(str(made.path))
    monkeypatch.setattr(manifests, "read", lambda folder: pytest.fail("it was read again"))

    assert cache.plan_of(str(made.path)) == first


def test_a_changed_manifest_is_read_again(made):
    cache.plan_of(str(made.path))
    (made.path / "CLI.md").write_text(render(CLI | {"description": "Changed."}, ""))

    assert cache.plan_of(str(made.path)).summary == "Changed."


@pytest.mark.parametrize("damage", [b"", b"\xe3junk", b"\x00" * 100])
def test_a_damaged_plan_is_made_again(made, tmp_path, damage):
    first = cache.plan_of(str(made.path))
    (file,) = kept(tmp_path)
    file.write_bytes(damage)

    assert cache.plan_of(str(made.path)) == first


def test_without_a_home_the_manifests_are_read_every_time(made, monkeypatch):
    for name in ("OPERABLE_HOME", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)

    assert cache.plan_of(str(made.path)).name == "prog"


def test_where_nothing_can_be_kept_nothing_is(made, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "file"))

    assert cache.plan_of(str(made.path)).name == "prog"


@pytest.fixture
def bundled(made, monkeypatch):
    """The wrapper as one that came with the package."""
    monkeypatch.setattr(places, "_BUNDLED", os.path.dirname(made.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return made


def test_the_plan_of_a_wrapper_of_the_package_is_kept_beside_it_for_whoever_has_no_home(bundled, monkeypatch):
    first = cache.plan_of(str(bundled.path))
    for name in ("OPERABLE_HOME", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(manifests, "read", lambda folder: pytest.fail("it was read again"))

    assert cache.plan_of(str(bundled.path)) == first


def test_a_plan_beside_its_wrapper_does_not_outlive_a_change(bundled):
    cache.plan_of(str(bundled.path))
    (bundled.path / "CLI.md").write_text(render(CLI | {"description": "Changed."}, ""))

    assert cache.plan_of(str(bundled.path)).summary == "Changed."


def test_what_one_user_allows_is_not_kept_for_the_others(bundled, tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "other"))
    config = tmp_path / "other" / "config"
    config.mkdir(parents=True)
    (config / "wrap.toml").write_text('[prog]\nenv = ["MY_TOKEN"]\n')

    assert "MY_TOKEN" in cache.plan_of(str(bundled.path)).env_pass
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))
    assert "MY_TOKEN" not in cache.plan_of(str(bundled.path)).env_pass


def test_settings_that_appear_while_manifests_are_read_are_not_kept_for_the_others(
    bundled, tmp_path, monkeypatch
):
    config = tmp_path / "home" / "config"
    config.mkdir(parents=True)
    read = manifests.read

    def slowly(folder):
        (config / "wrap.toml").write_text('[prog]\nenv = ["MY_TOKEN"]\n')
        return read(folder)

    monkeypatch.setattr(manifests, "read", slowly)
    cache.plan_of(str(bundled.path))
    (config / "wrap.toml").unlink()

    assert "MY_TOKEN" not in cache.plan_of(str(bundled.path)).env_pass


def test_settings_that_lead_nowhere_are_told_of_though_a_plan_is_kept(bundled, tmp_path):
    cache.plan_of(str(bundled.path))
    config = tmp_path / "home" / "config"
    config.mkdir(parents=True)
    os.symlink(tmp_path / "nowhere", config / "wrap.toml")

    with pytest.raises(Fail):
        cache.plan_of(str(bundled.path))


def test_where_no_bytecode_is_to_be_written_the_users_cache_has_the_plan(bundled, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    cache.plan_of(str(bundled.path))

    assert not (bundled.path / "__pycache__").exists()
    assert len(kept(tmp_path)) == 1


def tool(**metadata):
    return TOOL | {"metadata": {"operable": {"parse": {"kind": "jsonl"}} | metadata}}


@pytest.mark.parametrize(
    "changed, says",
    [
        (tool(limmit=3), "no key 'limmit'"),
        (tool(operands=["nothing"]), "'nothing', which is not declared"),
        (tool(options={"nothing": ["-x"]}), "'nothing', which is not declared"),
        (tool(resume="perhaps"), "resume is one of"),
        (TOOL | {"metadata": {"operable": {}}}, "needs parse"),
        (TOOL | {"outputs": {"type": "object"}}, "outputs describes an event"),
        (
            TOOL | {"mutates": ["workspace:."], "approval": "always", "risk_level": 1},
            "needs metadata.operable.plan",
        ),
        (TOOL | {"inputs": {"type": 3}}, "not a JSON Schema"),
    ],
)
def test_a_wrapper_that_says_nonsense_is_refused(made, changed, says):
    (made.path / "tools" / "go" / "TOOL.md").write_text(render(changed, ""))

    with pytest.raises(Fail) as caught:
        manifests.read(str(made.path))

    assert caught.value.code == "WRAPPER_INVALID"
    assert says in caught.value.message


def test_a_manifest_that_is_a_link_out_of_its_folder_is_refused(made, tmp_path):
    (tmp_path / "elsewhere.md").write_text(render(TOOL, ""))
    (made.path / "tools" / "go" / "TOOL.md").unlink()
    os.symlink(tmp_path / "elsewhere.md", made.path / "tools" / "go" / "TOOL.md")

    with pytest.raises(Fail) as caught:
        manifests.read(str(made.path))

    assert "leads out of the workspace" in caught.value.message
