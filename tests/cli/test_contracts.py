"""Where a release to compare comes from."""

import json

import pytest

from operable.cli.contracts import contract
from operable.kernel.errors import Fail


def test_a_directory_is_the_sum_of_its_files(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"$defs": {"hit": {}}}))
    (tmp_path / "b.json").write_text(json.dumps({"commands": []}))
    (tmp_path / "notes.txt").write_text("not JSON")
    found = contract(str(tmp_path))
    assert (found.schema, found.capabilities) == ({"$defs": {"hit": {}}}, {"commands": []})


def test_a_directory_without_any_is_an_error(tmp_path):
    with pytest.raises(Fail, match="contains neither an event schema"):
        contract(str(tmp_path))


def test_a_file_in_a_directory_that_is_none_is_named(tmp_path):
    (tmp_path / "a.json").write_text("[")
    with pytest.raises(Fail, match=r"a\.json is not JSON"):
        contract(str(tmp_path))
