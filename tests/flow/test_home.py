"""The home of manifests: where it is, what may be in it, and that nothing in it is half-written."""

import os
import stat

import pytest

from operable.flow.errors import FlowError
from operable.flow.home import home_of, paths, private_folder, read_private, write_private
from tests.requirement import requirement


@requirement("agentcli:rpc:paths")
@pytest.mark.parametrize(
    "environment, given, found",
    [
        ({"HOME": "/home/u"}, None, "/home/u/.agentcli"),
        ({"HOME": "/home/u", "OPERABLE_HOME": "/o"}, None, "/o/flow"),
        ({"HOME": "/home/u", "OPERABLE_HOME": "/o", "AGENTCLI_HOME": "/a"}, None, "/a"),
        ({"HOME": "/home/u", "AGENTCLI_HOME": "~/mine"}, None, "/home/u/mine"),
        ({"HOME": "/home/u", "AGENTCLI_HOME": "/a"}, "here", "/work/here"),
        ({"AGENTCLI_HOME": "/a"}, None, "/a"),
    ],
)
def test_the_caller_the_environment_and_the_user_say_where_it_is(environment, given, found):
    assert home_of(environment, given, cwd="/work") == found


@pytest.mark.parametrize(
    "environment, given", [({}, None), ({"HOME": ""}, None), ({"HOME": "relative"}, None), ({}, "~/x")]
)
def test_without_a_home_that_is_said(environment, given):
    with pytest.raises(FlowError, match="There is no home directory"):
        home_of(environment, given, cwd="/")


@requirement("agentcli:rpc:paths")
def test_everything_has_its_documented_place():
    assert paths("/h") == {
        "root": "/h",
        "manifests": "/h/manifests",
        "output": "/h/output",
        "state": "/h/state",
        "registry": "/h/registry",
        "audit": "/h/state/audit.ndjson",
        "approvals": "/h/state/approvals.ndjson",
        "allowed_signers": "/h/state/allowed_signers",
        "skill_path": "/h/skills/manifest-authoring/SKILL.md",
        "readme": "/h/README.md",
        "sampleManifest": "/h/manifests/bot-health.json",
    }


@requirement("agentcli:cli:home-files")
def test_folders_are_private_with_those_above_them_and_links_and_files_are_refused(tmp_path):
    made = private_folder(str(tmp_path / "a" / "b"))

    assert [stat.S_IMODE(os.stat(path).st_mode) for path in (made, tmp_path / "a")] == [0o700, 0o700]
    assert private_folder(made) == made
    (tmp_path / "link").symlink_to(made)
    (tmp_path / "file").write_text("")
    for name, words in (
        ("link", "Refusing to use symbolic-link directory: "),
        ("file", "Expected directory path but found another file type: "),
        ("file/below", "cannot be made"),
    ):
        with pytest.raises(FlowError, match=words):
            private_folder(str(tmp_path / name))


@requirement("agentcli:cli:home-files")
def test_only_regular_files_are_read_and_a_pipe_never_waits(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")

    assert read_private(str(tmp_path / "file")) == b"x"
    for name in ("link", "pipe"):
        with pytest.raises(FlowError, match="Refusing to use a non-regular file"):
            read_private(str(tmp_path / name))
        with pytest.raises(FlowError, match="Refusing to use a non-regular file"):
            write_private(str(tmp_path / name), b"y")
    with pytest.raises(FileNotFoundError):
        read_private(str(tmp_path / "nothing"))


def test_a_file_is_replaced_as_a_whole_privately_and_nothing_is_left_beside_it(tmp_path):
    path = str(tmp_path / "f")

    assert write_private(path, b"one") is False
    assert write_private(path, b"two") is True

    assert read_private(path) == b"two"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert os.listdir(tmp_path) == ["f"]


def test_what_cannot_be_written_is_an_error_and_leaves_no_draft(tmp_path):
    with pytest.raises(FlowError, match="cannot be written"):
        write_private(str(tmp_path / "missing" / "f"), b"x")
    assert os.listdir(tmp_path) == []


def test_a_file_beyond_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("operable.flow.home.FILE_LIMIT", 10)
    (tmp_path / "large").write_bytes(b"x" * 11)

    with pytest.raises(FlowError, match="is larger than 10 bytes"):
        read_private(str(tmp_path / "large"))
