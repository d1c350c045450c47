"""What in an event names the resource that was changed."""

import pytest

from operable.lint.checks.unnamed_resource import identity


@pytest.mark.parametrize(
    "event, name",
    [
        ({"type": "pushed", "remote_ref": "refs/heads/main"}, "refs/heads/main"),
        ({"type": "object", "name": "web", "uid": "0b9c-11"}, "0b9c-11"),
        ({"type": "file", "uid": 0, "path": "/a"}, "/a"),
        ({"type": "file", "uid": 0}, None),
        ({"type": "note", "path": "/a", "id": 7}, "7"),
        ({"type": "note", "id": True}, None),
    ],
)
def test_a_uid_is_a_name_when_it_is_a_text_and_a_user_of_unix_when_it_is_a_number(event, name):
    assert identity(event) == name
