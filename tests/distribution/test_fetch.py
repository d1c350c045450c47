"""Where packages come from: what is taken, and what is refused before anything is written where it could matter."""

import io
import os
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from operable.distribution import fetch as fetch_module
from operable.distribution.fetch import fetched
from operable.distribution.folder import digest, files
from operable.kernel.errors import Fail

IDENTITY = ["-c", "user.name=m", "-c", "user.email=m@example.org"]


def git(*words: str, cwd: Path) -> None:
    env = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *IDENTITY, *words], cwd=cwd, env=env, check=True, capture_output=True, timeout=60)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    root = tmp_path / "package"
    (root / "app").mkdir(parents=True)
    (root / "THE.md").write_text("# It\n")
    (root / "app/run.sh").write_text("#!/bin/sh\n")
    (root / "app/run.sh").chmod(0o755)
    return root


def taken(source: str, revision: str | None = None) -> dict[str, str]:
    with fetched(source, revision, "THE.md") as found:
        return files(found.folder)


def refusal(source: str, revision: str | None = None) -> Fail:
    with pytest.raises(Fail) as caught:
        taken(source, revision)
    return caught.value


def packed(package: Path, place: Path) -> Path:
    with tarfile.open(place, "w:gz") as archive:
        archive.add(package, "package")
    return place


@pytest.mark.needs("git")
def test_a_folder_an_archive_and_a_repository_give_the_same_package(package, tmp_path):
    expected = files(str(package))
    zipped = tmp_path / "package.zip"
    with zipfile.ZipFile(zipped, "w") as archive:
        for path in ("THE.md", "app/run.sh"):
            archive.write(package / path, path)
    git("init", "-q", "-b", "main", cwd=package)
    git("add", ".", cwd=package)
    git("commit", "-q", "-m", "one", cwd=package)
    git("tag", "v1", cwd=package)

    assert set(expected) == {"THE.md", "app/run.sh"}
    assert taken(str(package)) == expected
    assert taken(str(zipped)) == expected
    assert taken(str(packed(package, tmp_path / "p.tar.gz"))) == expected
    assert taken(f"git+{package}", "v1") == expected
    with fetched(f"file://{package}", None, "THE.md") as found:
        assert len(found.revision or "") == 40
    assert not os.path.exists(found.folder)


@pytest.mark.needs("git")
def test_a_repository_runs_nothing_and_an_unknown_revision_is_refused(package, tmp_path):
    git("init", "-q", "-b", "main", cwd=package)
    (package / ".gitattributes").write_text("* filter=evil\n")
    git("add", ".", cwd=package)
    git("commit", "-q", "-m", "one", cwd=package)
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    for name in ("filter.evil.smudge", "uploadpack.packObjectsHook", "core.fsmonitor", "core.sshCommand"):
        git("config", name, str(trap), cwd=package)
    for hook in ("post-checkout", "reference-transaction"):
        (package / ".git/hooks" / hook).write_text(trap.read_text())
        (package / ".git/hooks" / hook).chmod(0o755)

    assert "THE.md" in taken(f"git+{package}")
    assert not (tmp_path / "sprung").exists()
    assert refusal(f"git+{package}", "nowhere").code == "PACKAGE_UNREACHABLE"
    assert refusal(f"git+{package}", "--upload-pack=x").code == "REVISION_INVALID"
    assert refusal("git+ext::sh -c true").code == "PACKAGE_UNREACHABLE"
    assert refusal("git+http://127.0.0.1:1/x.git").code == "PACKAGE_SOURCE_OPEN"


@pytest.mark.parametrize("name", ["../out", "/out", "a/../../out", "a\\..\\out"])
def test_names_that_lead_out_of_an_archive_are_refused(package, tmp_path, name):
    tarred, zipped = tmp_path / "p.tar", tmp_path / "p.zip"
    with tarfile.open(tarred, "w") as archive:
        archive.add(package / "THE.md", "THE.md")
        member = tarfile.TarInfo(name)
        member.size = 1
        archive.addfile(member, io.BytesIO(b"x"))
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("THE.md", "# It\n")
        archive.writestr(name, "x")

    assert refusal(str(tarred)).code == "PACKAGE_NOT_FILES"
    assert refusal(str(zipped)).code == "PACKAGE_NOT_FILES"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices_are_refused(package, tmp_path, kind):
    place = tmp_path / "p.tar"
    with tarfile.open(place, "w") as archive:
        archive.add(package / "THE.md", "THE.md")
        member = tarfile.TarInfo("app/link")
        member.type, member.linkname = kind, "/etc/passwd"
        archive.addfile(member)
    (package / "link").symlink_to("/etc/passwd")

    assert refusal(str(place)).code == "PACKAGE_NOT_FILES"
    assert refusal(str(package)).code == "PACKAGE_NOT_FILES"


def test_a_package_that_is_too_large_or_broken_is_refused(package, tmp_path, monkeypatch):
    whole = packed(package, tmp_path / "p.tar.gz")
    (tmp_path / "cut.tar.gz").write_bytes(whole.read_bytes()[:-20])
    monkeypatch.setattr(fetch_module, "BYTES", 10)

    assert refusal(str(whole)).code == "PACKAGE_TOO_LARGE"
    assert refusal(str(tmp_path / "cut.tar.gz")).category == "validation"


def test_what_has_no_manifest_and_what_is_not_there(package, tmp_path):
    (package / "THE.md").unlink()

    assert refusal(str(package)).code == "PACKAGE_WITHOUT_MANIFEST"
    assert refusal(str(tmp_path / "nowhere")).code == "PACKAGE_NOT_FOUND"
    assert refusal(str(package), "v1").code == "CONFLICTING_OPTIONS"


def test_the_digest_is_of_paths_modes_and_contents(package):
    before = digest(files(str(package)))
    (package / "PACKAGE.sig").write_text("anything")
    assert digest(files(str(package))) == before

    (package / "app/run.sh").chmod(0o644)
    mode = digest(files(str(package)))
    (package / "THE.md").rename(package / "OTHER.md")

    assert len({before, mode, digest(files(str(package)))}) == 3


def test_what_no_digest_covers_does_not_come_with_an_archive(package, tmp_path):
    expected = files(str(package))
    (package / ".git").mkdir()
    (package / ".git" / "config").write_text("[core]\n\tfsmonitor = ./evil\n")
    with fetched(str(packed(package, tmp_path / "folder.tar.gz")), None, "THE.md") as found:
        assert not os.path.lexists(os.path.join(found.folder, ".git"))
        assert files(found.folder) == expected
    (package / ".git" / "config").unlink()
    (package / ".git").rmdir()
    (package / ".git").write_text("gitdir: /elsewhere\n")
    with fetched(str(packed(package, tmp_path / "file.tar.gz")), None, "THE.md") as found:
        assert not os.path.lexists(os.path.join(found.folder, ".git"))


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_a_description_in_an_archive_is_not_read_into_memory_whatever_its_size(tmp_path, kind):
    place = tmp_path / "package.tar"
    member = tarfile.TarInfo("long")
    member.type, member.size = kind, 1 << 40
    place.write_bytes(member.tobuf(tarfile.GNU_FORMAT) + bytes(10_240))
    assert refusal(str(place)).code == "PACKAGE_ARCHIVE_BROKEN"


def test_an_archive_of_folders_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(fetch_module, "_ENTRIES", 10)
    place = tmp_path / "package.tar"
    with tarfile.open(place, "w") as archive:
        for number in range(20):
            member = tarfile.TarInfo(f"folder{number}")
            member.type = tarfile.DIRTYPE
            archive.addfile(member)
    assert refusal(str(place)).code == "PACKAGE_TOO_LARGE"
