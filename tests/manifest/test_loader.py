import os
import subprocess
import sys

import pytest

from operable.kernel.errors import EX_DATAERR, EX_IOERR, Fail
from operable.manifest import AgentCli, Cli, ManifestError, from_mapping, load, parse, render
from operable.spec import schema
from tests.manifest.samples import AGENT, APP, BODIES, SAMPLES, changed


def write(tmp_path, name: str = "AGENT-CLI.md", folder: str = "hermes", text: str | None = None) -> str:
    (tmp_path / folder).mkdir(exist_ok=True)
    path = tmp_path / folder / name
    path.write_text(render(AGENT, "# Hermes\n") if text is None else text)
    return str(path)


def test_a_file_is_loaded_as_a_typed_value_with_its_body_and_lines(tmp_path):
    found = load(write(tmp_path))

    assert found.kind == "agent-cli"
    assert found.as_(AgentCli).bin == "hermes"
    assert found.body == "# Hermes\n"
    assert found.lines[("bin",)].line == 6
    assert found.problems == ()
    with pytest.raises(TypeError, match="of the kind agent-cli, not Cli"):
        found.as_(Cli)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_kind_is_read_from_its_file_by_name_and_by_content(tmp_path, name):
    from operable.manifest import kind_named

    kind = kind_named(name)
    text = render(SAMPLES[name], BODIES.get(name, ""))

    assert parse(text, path=kind.file_name).kind == name
    assert parse(text, path=f"some.{kind.file_name}").kind == name
    assert parse(text, path="SOMETHING.md").kind == name
    assert isinstance(parse(text, kind=name).value, kind.model)
    assert schema(kind.schema)["title"].startswith(kind.file_name)


def test_a_file_that_nothing_gives_away_is_refused():
    with pytest.raises(ManifestError) as caught:
        parse("---\ntitle: x\n---\n", path="README.md")

    assert caught.value.code == "KIND_UNKNOWN"


def test_an_unknown_kind_is_answered_with_the_known_ones():
    with pytest.raises(Fail) as caught:
        parse("---\na: 1\n---\n", kind="agent-clu")

    assert caught.value.code == "UNKNOWN_MANIFEST_KIND"
    assert "agent-cli" in str(caught.value.hint)


def test_the_name_is_that_of_the_folder_or_it_is_said(tmp_path):
    path = write(tmp_path, folder="other")

    with pytest.raises(ManifestError) as caught:
        load(path)
    assert caught.value.code == "NAME_NOT_DIRECTORY"
    assert [each.level for each in load(path, strict=False).problems] == ["warning"]


def test_a_relative_path_knows_its_folder_too(tmp_path, monkeypatch):
    write(tmp_path)
    monkeypatch.chdir(tmp_path / "hermes")

    assert load("AGENT-CLI.md").value.name == "hermes"


def test_a_file_that_is_not_there_or_cannot_be_read_is_an_error_of_its_own(tmp_path):
    with pytest.raises(ManifestError) as missing:
        load(tmp_path / "AGENT-CLI.md")
    with pytest.raises(ManifestError) as folder:
        load(tmp_path)
    with pytest.raises(ManifestError) as nonsense:
        load("a\x00b")

    assert (missing.value.code, missing.value.category, missing.value.exit_code) == (
        "FILE_MISSING",
        "not_found",
        EX_DATAERR,
    )
    assert (folder.value.code, folder.value.exit_code) == ("FILE_UNREADABLE", EX_IOERR)
    assert nonsense.value.code == "FILE_UNREADABLE"


def test_a_file_is_not_read_beyond_the_limit(tmp_path):
    with pytest.raises(ManifestError) as caught:
        load(write(tmp_path), limit=20)

    assert caught.value.code == "FILE_TOO_LARGE"


def test_without_its_body_only_the_frontmatter_is_read(tmp_path):
    body = b"\xff" * 2_000_000
    path = write(tmp_path, name="APP.md", folder="to-do")
    with open(path, "wb") as file:
        file.write(render(APP).encode() + body)

    found = load(path, body=False)

    assert (found.value.name, found.body) == ("To-do", "")
    with pytest.raises(ManifestError):
        load(path)


def test_a_pipe_that_nobody_closes_is_no_reason_to_read_more_than_the_frontmatter(tmp_path):
    path = tmp_path / "APP.md"
    os.mkfifo(path)
    code = (
        "import sys\nfile = open(sys.argv[1], 'w')\nfile.write(sys.argv[2]); file.flush()\nsys.stdin.read()"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, str(path), render(APP)], stdin=subprocess.PIPE)
    try:
        assert load(path, body=False, strict=False).value.name == "To-do"
    finally:
        writer.communicate(timeout=200)


def test_a_mapping_is_judged_like_a_file():
    assert from_mapping(AGENT, "agent-cli").as_(AgentCli).id == "hermes"
    with pytest.raises(ManifestError) as caught:
        from_mapping(changed("agent-cli", protocol="x"), "agent-cli", path="define_agent_cli")
    assert caught.value.code == "PROTOCOL_UNKNOWN"
    assert "define_agent_cli:1:" in str(caught.value)


def test_a_mapping_may_hold_tuples_and_is_not_changed():
    data = changed("agent-cli", bin_args=("a", "b"), colour="red")

    found = from_mapping(data, "agent-cli", strict=False)

    assert found.value.bin_args == ("a", "b")
    assert data == changed("agent-cli", bin_args=("a", "b"), colour="red")


def nested(depth: int) -> dict[str, object]:
    return {"a": nested(depth - 1)} if depth else {}


@pytest.mark.parametrize(
    "odd", [{"a": object()}, {"a": {1j: 2}}, nested(80), nested(800)], ids=["object", "key", "80", "800"]
)
def test_a_mapping_that_no_manifest_can_be_is_refused(odd):
    with pytest.raises(ManifestError) as caught:
        from_mapping(odd, "agent-cli")

    assert caught.value.code == "NOT_PLAIN"


def test_an_alias_with_an_unknown_key_is_read_wherever_it_stands():
    data = render(changed("agent-cli")).replace(
        "protocol: acp", "modes:\n  - &m {id: a, x: 1}\nmetadata: {copy: *m}\nprotocol: acp"
    )

    found = parse(data, kind="agent-cli", strict=False)

    assert found.extra == {"modes.0.x": 1}
    assert found.data["metadata"] == {"copy": {"id": "a", "x": 1}}


def test_loading_the_package_loads_neither_the_yaml_reader_nor_the_validator():
    code = "import sys, operable.manifest, operable.manifest.blocks, operable.manifest.loader; print(*sys.modules)"

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=200, check=True
    ).stdout.split()

    assert {"ruamel.yaml", "jsonschema_rs", "regress", "semantic_version", "asyncio", "subprocess"} & set(
        loaded
    ) == set()


def test_a_published_schema_that_disagrees_with_its_model_is_an_error_not_a_crash(monkeypatch):
    from operable.manifest import loader

    monkeypatch.setattr(loader, "complaints", lambda kind, root: ())

    with pytest.raises(ManifestError) as caught:
        from_mapping(changed("agent-cli", bin=5), "agent-cli")

    assert caught.value.code == "FIELD_INVALID"
