import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.kernel.errors import Fail
from operable.proc.sandbox.egress.rules import Rules, normal, parse


@pytest.mark.parametrize(
    "entry, host, port",
    [
        ("example.com", "example.com", 443),
        ("example.com", "example.com", 80),
        ("EXAMPLE.com.", "example.com", 443),
        ("*.example.com", "a.b.example.com", 443),
        ("example.com:8443", "example.com", 8443),
        ("example.com:*", "example.com", 22),
        ("*", "anything.example", 443),
        ("127.0.0.1:8399", "127.0.0.1", 8399),
        ("[::1]:80", "::1", 80),
        ("[0:0::1]:80", "::1", 80),
        ("bücher.example", "xn--bcher-kva.example", 443),
    ],
)
def test_what_is_listed_is_covered(entry, host, port):
    assert Rules((entry,)).covers(host, port)


@pytest.mark.parametrize(
    "entry, host, port",
    [
        ("example.com", "example.com", 8443),
        ("example.com", "example.com.evil.example", 443),
        ("example.com", "notexample.com", 443),
        ("*.example.com", "example.com", 443),
        ("*.example.com", "evilexample.com", 443),
        ("example.com:8443", "example.com", 443),
        ("*", "10.0.0.1", 443),
        ("*", "::1", 443),
        ("*", "anything.example", 22),
        ("127.0.0.1:8399", "127.0.0.1", 80),
        ("127.0.0.1:8399", "localhost", 8399),
    ],
)
def test_what_is_not_listed_is_not_covered(entry, host, port):
    assert not Rules((entry,)).covers(host, port)


def test_an_empty_list_covers_nothing():
    assert not Rules().covers("example.com", 443)


@pytest.mark.parametrize(
    "entry", ["", "*com", "a.*.com", "http://example.com", "a b", "example.com:0", "example.com:x", "u@h"]
)
def test_what_is_no_host_is_refused(entry):
    with pytest.raises(Fail) as caught:
        parse(entry)
    assert caught.value.code == "EGRESS_INVALID"


@pytest.mark.parametrize(
    "found",
    [
        "127.0.0.1",
        "10.1.1.1",
        "192.168.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "::1",
        "fe80::1%eth0",
        "fd00::1",
        "::ffff:10.0.0.1",
        "64:ff9b::a00:1",
        "64:ff9b:1::a00:1",
        "::ffff:0:10.0.0.1",
        "::10.0.0.1",
        "2001:0:a00:1::",
        "2600::5efe:a00:1",
        "2600::200:5efe:a00:1",
        "fec0::1",
        "ff02::1",
        "::",
        "255.255.255.255",
        "192.0.0.1",
        "198.18.0.1",
        "2002:a00:1::",
    ],
)
def test_a_name_that_leads_to_an_address_that_is_not_public_is_refused(found):
    assert not Rules(("*",)).may_connect("evil.example", found, 443)


@pytest.mark.parametrize(
    "found",
    [
        *("192.0.0.1", "192.0.0.192", "192.88.99.2", "168.63.129.16", "3fff::1", "2001:1::1", "2001:db8::1"),
        *("5f00::1", "100:0:0:1::1", "fec0::1", "64:ff9b::808:808", "::808:808", "4000::1"),
    ],
)
def test_a_range_with_a_meaning_of_its_own_is_not_public_on_any_python(found):
    assert not Rules(("*",)).may_connect("evil.example", found, 443)


@pytest.mark.parametrize(
    "found", ["93.184.216.34", "192.0.1.1", "2606:4700::1111", "2a00:1450::1", "2001:4860::8888"]
)
def test_a_public_address_is_connected_to(found):
    assert Rules(("*",)).may_connect("good.example", found, 443)


@pytest.mark.parametrize("host", ["127.1", "0x7f.1", "2130706433", "017700000001", "0x7f000001", "1.2.3.4.5"])
def test_an_address_in_an_old_spelling_is_not_a_name(host):
    assert normal(host) == ""


def test_a_port_is_named_by_the_entry_that_names_it():
    rules = Rules(("a.example", "b.example:80", "c.example:*", "*.d.example:8080"))
    named = [host for host in ("a.example", "b.example", "c.example") if rules.names_port(host, 80)]
    assert named == ["b.example"]
    assert rules.names_port("x.d.example", 8080)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "localhost."])
def test_the_host_s_own_loopback_is_not_public(host):
    assert not Rules(("*", "*:*")).covers(normal(host), 80)
    assert Rules(("*", "localhost")).covers(normal(host), 80)


def test_public_addresses_and_those_that_are_named_may_be_connected_to():
    rules = Rules(("internal.example", "10.1.1.1", "localhost:8000"))
    assert rules.may_connect("internal.example", "93.184.216.34", 443)
    assert rules.may_connect("internal.example", "10.1.1.1", 443)
    assert not rules.may_connect("internal.example", "10.1.1.2", 443)
    assert rules.may_connect("localhost", "127.0.0.1", 8000)
    assert not rules.may_connect("localhost", "10.0.0.5", 8000)


def test_loopback_services_are_found_by_their_numbers_each_once():
    rules = Rules(
        ("example.com", "127.0.0.1:8399", "localhost:8399", "localhost:70", "[::1]:80", "127.0.0.2")
    )

    assert rules.loopback() == ("127.0.0.1:8399", "localhost:70", "[::1]:80")


@given(st.text(max_size=40))
def test_no_text_breaks_the_reading_of_a_list(text):
    try:
        rule = parse(text)
    except Fail:
        return
    assert rule.host
