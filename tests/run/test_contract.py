import json

import pytest

from operable.kernel.errors import Fail
from operable.run.contract import Contract, contract_at, contract_of
from tests.run.fake import tool


def written(tmp_path, document, name="c.json"):
    path = tmp_path / name
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return str(path)


def test_a_snapshot_survives_the_file(tmp_path):
    contract = Contract({"$defs": {}}, {"tool": "x", "commands": []}, {"search": {"type": "object"}})
    assert contract_of(written(tmp_path, contract.document())) == contract


def test_a_plain_schema_and_a_plain_manifest_are_told_apart(tmp_path):
    assert contract_of(written(tmp_path, {"$defs": {}})) == Contract(schema={"$defs": {}})
    assert contract_of(written(tmp_path, {"commands": []})) == Contract(capabilities={"commands": []})
    # A file that cannot be executed is read, whatever its name.
    assert contract_of(written(tmp_path, {"$defs": {}}, "snapshot")).schema == {"$defs": {}}


@pytest.mark.parametrize("content", ["", "[]", "3", "{}", '{"unrelated": 1}', "\x00"])
def test_a_file_that_is_none_of_these_is_a_validation_error(tmp_path, content):
    with pytest.raises(Fail) as caught:
        contract_of(written(tmp_path, content))
    assert (caught.value.category, caught.value.code) == ("validation", "CONTRACT_INVALID")


def test_a_missing_file_is_not_taken_for_a_program():
    with pytest.raises(Fail) as caught:
        contract_of("/no/such/contract.json")
    assert caught.value.code == "CONTRACT_NOT_FOUND"


def test_a_program_that_does_not_describe_itself_is_said_to_be_so(tmp_path):
    with pytest.raises(Fail) as caught:
        contract_of(tool(tmp_path, "sys.exit(2)"))
    assert caught.value.code == "CONTRACT_UNAVAILABLE"


def test_a_directory_is_the_sum_of_its_files(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"$defs": {"hit": {}}}))
    (tmp_path / "b.json").write_text(json.dumps({"commands": []}))
    (tmp_path / "notes.txt").write_text("not JSON")
    found = contract_at(str(tmp_path))
    assert (found.schema, found.capabilities) == ({"$defs": {"hit": {}}}, {"commands": []})


def test_a_directory_without_any_is_an_error(tmp_path):
    with pytest.raises(Fail, match="contains neither an event schema"):
        contract_at(str(tmp_path))


def test_a_file_in_a_directory_that_is_none_is_named(tmp_path):
    (tmp_path / "a.json").write_text("[")
    with pytest.raises(Fail, match=r"a\.json is not JSON"):
        contract_at(str(tmp_path))
