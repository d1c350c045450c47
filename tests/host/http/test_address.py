"""Where messages to an agent behind a web address may go. That it is on the list: tests/host/http/test_transport.py."""

import pytest

from operable.host.http.address import same_host


def test_messages_are_never_posted_to_another_host():
    assert same_host("http://a:1/sse", "/messages?id=1") == "http://a:1/messages?id=1"
    with pytest.raises(ValueError, match="another host"):
        same_host("http://a:1/sse", "http://b:1/messages")
