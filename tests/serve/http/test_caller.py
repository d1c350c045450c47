"""The answer to a request that is refused: its status, and the headers that say what a client does now."""

import json

import pytest

from operable.kernel.errors import Fail
from operable.serve.http.caller import error_response
from operable.serve.http.errors import STATUS_OF_CATEGORY, STATUS_OF_CODE


@pytest.mark.parametrize(
    ("status", "header", "value"),
    [
        (401, "www-authenticate", "Bearer"),
        (408, "connection", "close"),  # the rest of the body is not read: it would be the next request
        (413, "connection", "close"),
        (429, "retry-after", "1"),
    ],
)
def test_a_refusal_says_what_the_client_does_now(status, header, value):
    codes = [("validation", code) for code, of in STATUS_OF_CODE.items() if of == status]
    named = codes + [(category, "X") for category, of in STATUS_OF_CATEGORY.items() if of == status]
    assert named
    for category, code in named:
        response = error_response(Fail(category, code, "no"))
        assert (response.status_code, response.headers.get(header)) == (status, value)
        assert response.headers["cache-control"] == "no-store"
        assert json.loads(bytes(response.body))["error"]["message"] == "no"


def test_other_refusals_keep_the_connection_and_ask_for_nothing():
    response = error_response(Fail("not_found", "X", "no"))
    assert {"connection", "www-authenticate", "retry-after"}.isdisjoint(response.headers)
    assert response.status_code == 404
