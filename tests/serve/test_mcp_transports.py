"""The token of the HTTP server."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from operable.kernel.errors import Fail
from operable.serve.mcp_transports import token_of


def test_servers_that_begin_at_once_have_one_token(tmp_path):
    with ThreadPoolExecutor(16) as pool:
        found = set(pool.map(token_of, [str(tmp_path)] * 200))
    assert len(found) == 1
    assert os.listdir(tmp_path) == ["mcp-token"]


@pytest.mark.parametrize(
    "content, mode", [("", 0o600), ("short", 0o600), ("\xe9" * 40, 0o600), ("x" * 40, 0o640)]
)
def test_a_token_that_is_none_or_that_others_may_know_is_refused(tmp_path, content, mode):
    path = tmp_path / "mcp-token"
    path.write_text(content, encoding="latin-1")
    path.chmod(mode)
    with pytest.raises(Fail) as caught:
        token_of(str(tmp_path))
    assert (caught.value.code, caught.value.target) == ("TOKEN_INVALID", str(path))
    assert "x" * 40 not in caught.value.message


def test_a_folder_in_place_of_the_token_is_refused(tmp_path):
    (tmp_path / "mcp-token").mkdir()
    with pytest.raises(Fail, match="cannot be used"):
        token_of(str(tmp_path))
