"""Arguments of MCP calls: what is wrong is said by name, and no value is repeated."""

from typing import Any

import pytest

from operable.kernel.errors import Fail
from operable.offer.action import Action, check_arguments
from operable.serve.catalog import Operable
from operable.serve.mcp_tools import McpTool

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1},
        "kind": {"enum": ["file", "folder"]},
    },
    "required": ["path"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"path": "x", "pth": "hunter2"}, "there is no 'pth'"),
        ({}, "'path' is missing"),
        ({"path": "x", "limit": "hunter2"}, "limit must be of type integer"),
        ({"path": "x", "limit": -5}, "limit: minimum"),
        ({"path": "x", "kind": "hunter2"}, "kind must be one of file, folder"),
        ({"path": ["hunter2"]}, "path must be of type string"),
    ],
)
def test_a_slip_is_told_so_that_it_can_be_mended(arguments, says):
    tool = McpTool("ls_list", Operable("wrap", "ls"), Action("list"), SCHEMA)

    with pytest.raises(Fail) as caught:
        check_arguments(tool.name, tool.schema, arguments)

    assert (caught.value.code, caught.value.hint) == ("INVALID_ARGUMENTS", "it takes path, limit, kind")
    assert says in caught.value.message
    assert "hunter2" not in caught.value.message
