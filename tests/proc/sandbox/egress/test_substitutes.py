import pytest

from operable.proc.sandbox.egress.substitutes import Substitute, Substitutes

HOSTS = (
    "api.example",
    "*.wild.example",
    "plain.example:8080",
    "tls.example:443",
    "any.example:*",
    "127.0.0.1:8399",
)


@pytest.mark.parametrize(
    "host, port, secure, obstacle",
    [
        ("api.example", 443, True, None),
        ("api.example", 443, False, "secret-needs-tls"),
        ("api.example", 80, False, "secret-needs-tls"),
        ("a.wild.example", 80, False, "secret-needs-tls"),
        ("plain.example", 8080, False, None),
        ("plain.example", 443, True, "secret-not-for-host"),
        ("tls.example", 443, False, "secret-needs-tls"),
        ("any.example", 8080, False, "secret-needs-tls"),
        ("127.0.0.1", 8399, False, None),
        ("evil.example", 443, True, "secret-not-for-host"),
    ],
)
def test_a_secret_goes_to_its_hosts_and_in_the_clear_only_to_a_named_port(host, port, secure, obstacle):
    substitutes = Substitutes((Substitute("KEY", HOSTS, lambda: "value"),))
    assert substitutes.obstacle("KEY", host, port, secure=secure) == obstacle
    assert substitutes.obstacle("OTHER", host, port, secure=secure) == "secret-not-for-host"


def test_values_are_fetched_at_each_use():
    values = iter(["first", "second"])
    substitutes = Substitutes((Substitute("KEY", HOSTS, lambda: next(values)),))
    assert [substitutes.reveal(["KEY"]) for _ in range(2)] == [{"KEY": "first"}, {"KEY": "second"}]
