"""Which addresses a rule about fetching means: host by host, and not by how the address is spelled."""

import pytest

from operable.gate.policy.address_match import allows_address, is_like, touches_address
from operable.gate.policy.pattern import ALLOW, DENY
from operable.gate.policy.policy_file import rules
from operable.gate.policy.tool_call import JudgedCall


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


ADMIN = "https://h.example/admin/*"
PUBLIC = "https://h.example/public/*"
READ_OTHERWISE = [
    "https://h.example/public/../admin/x",
    "https://h.example/public/./../admin/x",
    "https://h.example/public/%2e%2e/admin/x",
    "https://h.example/public/.%2E/admin/x",
    "https://h.example/public/..;a=b/admin/x",
    "https://h.example/public/..%2fadmin/x",
    "https://h.example/public/%252e%252e/admin/x",
]


@pytest.mark.parametrize("address", READ_OTHERWISE)
def test_a_path_is_compared_in_every_way_in_which_it_is_read(address):
    assert touches_address(ADMIN, address)
    assert not allows_address(PUBLIC, address)


@pytest.mark.parametrize(
    "address",
    ["https://h.example:/admin/x", "https://h.example:0443/admin/x", "https://h.example:443/admin/x",
     "https://h.example/%61dmin/x", "https://h.example//admin/x", "https://h.example/./admin/x"],
)  # fmt: skip
def test_a_deny_sees_through_spellings_of_port_and_path(address):
    assert touches_address(ADMIN, address)


@pytest.mark.parametrize(
    "address",
    ["http://00000000000177.0.0.1/", "http://0x000000007f.1/", "http://0x7f.0x0.0x0.0x1/", "http://0177.0.1"],
)
def test_long_numbers_are_addresses_too(address):
    assert touches_address("http://127.0.0.1*", address)


@pytest.mark.parametrize(
    "address",
    ["https://evil:1.good.example/x", "https://a.b:99999/", "https://[::1/", "https://1.2.3.4.5/", "https://x:y/",
     "https://[::1]x/", "https://[x]/", "https://09.1/", "https://a^b/", "https://" + "a" * 5000],
)  # fmt: skip
def test_an_address_that_does_not_parse_may_be_every_address(address):
    assert touches_address("https://other.example/*", address)
    assert not allows_address("https://*", address)
    assert not allows_address("https://*.good.example/*", address)


@pytest.mark.parametrize("text", ["get the news", "a: b", "1.2.3.4.5", "see [1]", "x:y"])
def test_a_text_that_is_not_an_address_is_not_every_address(text):
    assert not touches_address("https://other.example/*", text)


@pytest.mark.parametrize("host", ["evil;.good.example", "evil,.good.example", "a_b^.good.example"])
def test_an_allow_needs_a_host_that_every_client_reads_in_the_same_way(host):
    assert not allows_address("https://*.good.example/*", f"https://{host}/x")


@pytest.mark.parametrize(
    "pattern, text, is_so",
    [("*a*b*c", "xaxbxc", True), ("*a*b*c", "xbxaxc", False), ("a*b*c*d", "abcd", True), ("a*b*c*d", "abd", False),
     ("*?*?*", "a", False), ("*?*?*", "ab", True), ("a*a*a*a", "aaa", False), ("***a", "xa", True)],
)  # fmt: skip
def test_many_stars_are_matched_one_after_the_other(pattern, text, is_so):
    assert is_like(pattern, text) is is_so
