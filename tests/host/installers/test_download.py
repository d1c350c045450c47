import bz2
import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile

import pytest

from operable.host.installers.download import place
from operable.host.launch.installer import MethodFailed

PROGRAM = b"#!/bin/sh\necho agent\n"


def tar(path, *members, mode="w"):
    with tarfile.open(path, mode) as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            if isinstance(content, bytes):
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
            else:
                member.type, member.linkname = content
                archive.addfile(member)
    return str(path)


def placed(tmp_path, archive, wanted="agent", **options):
    (tmp_path / "bin").mkdir()
    place(archive, wanted, str(tmp_path / "bin" / "agent"), **options)
    return tmp_path / "bin" / "agent"


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
@pytest.mark.parametrize("wanted", ["agent", "x/bin/agent", "./x/bin/agent"])
def test_a_program_is_taken_out_of_a_tar(tmp_path, mode, wanted):
    archive = tar(tmp_path / "a", ("x/readme", b"text"), ("x/bin/agent", PROGRAM), mode=mode)
    program = placed(tmp_path, archive, wanted)
    assert program.read_bytes() == PROGRAM
    assert stat.S_IMODE(program.stat().st_mode) == 0o755
    assert os.listdir(tmp_path / "bin") == ["agent"]


def test_a_program_is_taken_out_of_a_zip(tmp_path):
    with zipfile.ZipFile(tmp_path / "a", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x/agent/", "")
        archive.writestr("x/bin/agent", PROGRAM)
    assert placed(tmp_path, str(tmp_path / "a")).read_bytes() == PROGRAM


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_one_file_plain_or_compressed_is_the_program_itself(tmp_path, compress):
    (tmp_path / "a").write_bytes(compress(PROGRAM))
    assert placed(tmp_path, str(tmp_path / "a")).read_bytes() == PROGRAM


@pytest.mark.parametrize(
    "content",
    [
        (tarfile.SYMTYPE, "/etc/passwd"),
        (tarfile.LNKTYPE, "x/other"),
        (tarfile.FIFOTYPE, ""),
        (tarfile.CHRTYPE, ""),
    ],
)
def test_a_link_or_a_device_in_its_place_is_refused(tmp_path, content):
    with pytest.raises(MethodFailed, match="regular"):
        placed(tmp_path, tar(tmp_path / "a", ("agent", content)))
    assert os.listdir(tmp_path / "bin") == []


def test_a_link_in_a_zip_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a", "w") as archive:
        member = zipfile.ZipInfo("agent")
        member.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(member, "/etc/passwd")
    with pytest.raises(MethodFailed, match="regular"):
        placed(tmp_path, str(tmp_path / "a"))


def test_names_that_climb_out_write_nothing_anywhere(tmp_path):
    archive = tar(
        tmp_path / "a",
        ("../../evil", b"x"),
        ("/abs/evil", b"x"),
        ("link", (tarfile.SYMTYPE, "/")),
        ("link/evil", b"x"),
        ("agent", PROGRAM),
    )
    placed(tmp_path, archive)
    assert sorted(os.listdir(tmp_path)) == ["a", "bin"]
    assert os.listdir(tmp_path / "bin") == ["agent"]


def test_even_the_wanted_name_may_not_lead_elsewhere(tmp_path):
    program = placed(tmp_path, tar(tmp_path / "a", ("../../agent", PROGRAM)), "../../agent")
    assert program == tmp_path / "bin" / "agent"
    assert sorted(os.listdir(tmp_path)) == ["a", "bin"]


def test_a_program_that_unpacks_to_too_much_is_given_up(tmp_path):
    archive = tar(tmp_path / "a", ("agent", b"\0" * 2_000_000), mode="w:gz")
    assert os.path.getsize(archive) < 10_000
    with pytest.raises(MethodFailed, match="more than"):
        placed(tmp_path, archive, limit=1_000_000)
    assert os.listdir(tmp_path / "bin") == []


def test_so_is_an_archive_that_hides_it_behind_too_much(tmp_path):
    archive = tar(tmp_path / "a", ("padding", b"\0" * 2_000_000), ("agent", PROGRAM), mode="w:gz")
    with pytest.raises(MethodFailed, match="more than"):
        placed(tmp_path, archive, limit=1_000_000)


def test_a_zip_bomb_is_given_up_whatever_it_says_of_its_size(tmp_path):
    with zipfile.ZipFile(tmp_path / "a", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("agent", b"\0" * 2_000_000)
    with pytest.raises(MethodFailed, match="more than"):
        placed(tmp_path, str(tmp_path / "a"), limit=1_000_000)


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_an_archive_without_the_program_says_so(tmp_path, kind):
    if kind == "tar":
        archive = tar(tmp_path / "a", ("other", b"x"))
    else:
        archive = str(tmp_path / "a")
        with zipfile.ZipFile(archive, "w") as contents:
            contents.writestr("other", "x")
    with pytest.raises(MethodFailed, match="has no 'agent'"):
        placed(tmp_path, archive)


@pytest.mark.parametrize(
    "start", [b"\x1f\x8b\x08garbage", b"PK\x03\x04garbage", b"BZh9garbage", b"\xfd7zXZ\0garbage", b""]
)
def test_a_broken_archive_is_a_reason_not_a_crash(tmp_path, start):
    (tmp_path / "a").write_bytes(start)
    with pytest.raises(MethodFailed):
        placed(tmp_path, str(tmp_path / "a"))
    assert os.listdir(tmp_path / "bin") == []
