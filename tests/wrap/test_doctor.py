"""What the linter said of a wrapper is read, and never waited for."""

import os

import pytest

from operable.kernel.errors import Fail
from operable.wrap.doctor import verdicts


def test_a_wrapper_without_verdicts_was_not_linted(tmp_path):
    assert verdicts(str(tmp_path)) == {}


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "make",
    [
        os.mkfifo,
        os.mkdir,
        lambda path: os.symlink("nowhere", path),
        lambda path: path.write_bytes(b"\xff"),
        lambda path: path.write_text("[" * 100_000),
        lambda path: path.write_text('{"wrapped": {"go": {"typed": "perhaps"}}}'),
        lambda path: path.write_text('{"wrapped": [1]}'),
    ],
    ids=["pipe", "folder", "dangling", "bytes", "deep", "other word", "list"],
)
def test_verdicts_that_are_none_are_the_fault_of_the_wrapper(tmp_path, make):
    make(tmp_path / "lint.json")

    with pytest.raises(Fail) as caught:
        verdicts(str(tmp_path))

    assert caught.value.code == "WRAPPER_INVALID"
    assert "Errno" not in caught.value.message
