"""Which addresses a rule about fetching means: host by host, and not by how the address is spelled."""

import pytest

from operable.host.policy.pattern import ALLOW, DENY
from operable.host.policy.policy_file import rules
from operable.host.policy.tool_call import JudgedCall


def decided(address, **chosen):
    return rules(**chosen).decide(JudgedCall("fetch", "fetch", {"url": address}), "/work/project").effect


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/x.good.example/y",
        "https://evil.example?.good.example/y",
        "https://evil.example#.good.example/y",
        "https://a.good.example@evil.example/",
        "https://x@a.good.example/",
        "https://evil.example\\.good.example/",
        "https://evil.example/\n.good.example/",
        "http://a.good.example/",
        "https://a.good.example:8443/",
    ],
)
def test_an_allow_of_a_host_reaches_no_other_host(address):
    assert decided(address, allow=["fetch:https://*.good.example/*"]) == DENY


@pytest.mark.parametrize(
    "address",
    [
        "https://a.good.example/x",
        "HTTPS://A.Good.Example/x",
        "https://a.good.example:443/x",
        "https://a.good.example./x",
    ],
)
def test_an_allow_of_a_host_holds_in_every_spelling_of_it(address):
    assert decided(address, allow=["fetch:https://*.good.example/*"]) == ALLOW


@pytest.mark.parametrize(
    "address",
    [
        "https://bad.example/x",
        "HTTPS://BAD.example/x",
        "https://bad.example:443/x",
        "https://bad.example./x",
        "https://bad.example.:443/x",
        "https://user@bad.example/x",
        "https://bad.example",
        "https:\\bad.example\\x",
        "bad.example/x",
    ],
)
def test_a_deny_of_a_host_holds_in_every_spelling_of_it(address):
    assert decided(address, allow=["*"], deny=["fetch:https://bad.example/*"]) == DENY
    assert decided("https://other.example/x", allow=["*"], deny=["fetch:https://bad.example/*"]) == ALLOW
