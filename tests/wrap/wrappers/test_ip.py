"""The wrapped ip, in network namespaces of the tests' own: nothing of the machine's network is touched or relied upon."""

import os
import subprocess

import pytest

from tests.tool.drive import LIMIT, Outcome
from tests.wrap.drive import raw, wrap
from tests.wrap.wrappers.stand_in import stand_in

pytestmark = pytest.mark.needs("ip", "unshare")
# Root of a namespace of its own; the real root needs no user namespace for that.
_ALONE = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]


@pytest.fixture(autouse=True)
def _namespaces() -> None:
    done = subprocess.run([*_ALONE, "true"], capture_output=True, timeout=LIMIT, check=False)
    if done.returncode != 0:
        pytest.skip("no network namespace can be made here")


def alone(script: str, *words: str) -> Outcome:
    """A call of the wrapped ip in a network namespace that a script has prepared."""
    before = [*_ALONE, "sh", "-c", f'set -e; {script}; exec "$@"', "sh"]
    return wrap("ip", *words, before=before)


def test_addresses_stand_with_their_interface():
    done = alone("ip link set lo up; ip addr add 192.0.2.7/32 dev lo", "addr", "--dev", "lo")

    assert [event["ifname"] for event in done.results] == ["lo"]
    assert ("inet", "192.0.2.7", 32) in [
        (each["family"], each["local"], each["prefixlen"]) for each in done.results[0]["addr_info"]
    ]
    assert done.summary["ok"] is True


def test_routes_of_each_table_and_family_keep_their_kind_beside_the_type_of_the_event():
    prepare = "ip link set lo up; ip route add 198.51.100.0/24 dev lo; ip -6 route add 2001:db8::/32 dev lo"

    main = alone(prepare, "route")
    local = alone(prepare, "route", "--table", "local")
    six = alone(prepare, "route", "--family", "inet6")

    assert [(event["dst"], event["native_type"]) for event in main.results] == [
        ("198.51.100.0/24", "unicast")
    ]
    assert {event["native_type"] for event in local.results} >= {"local", "broadcast"}
    assert "2001:db8::/32" in [event["dst"] for event in six.results]


def test_the_next_page_of_routes_goes_on_behind_the_last():
    prepare = "ip link set lo up; for n in 1 2 3 4; do ip route add 198.51.100.$n dev lo; done"

    first = alone(prepare, "route", "--limit", "3")
    second = alone(prepare, "route", "--limit", "3", "--cursor", first.summary["next_cursor"])

    assert [event["dst"] for event in first.results + second.results] == [
        f"198.51.100.{n}" for n in range(1, 5)
    ]
    assert second.summary["truncated"] is False


@pytest.mark.parametrize("name", [b"a\xff\x01", b'"},{"x', b"\\n\x1b[1", "é\u2028".encode(), b"'`$;"])
def test_any_name_of_an_interface_comes_back_as_it_is(name):
    """The program writes bytes and control characters into its JSON as they are."""
    octal = "".join(f"\\{byte:03o}" for byte in name)
    script = f"ip link set lo name \"$(printf '{octal}')\""

    for command in ("link", "addr"):
        done = alone(script, command)

        assert [raw(event, "ifname") for event in done.results] == [name]
        assert (done.summary["ok"], done.summary["warning_count"]) == (True, 0)


@pytest.mark.parametrize("command", ["link", "addr"])
def test_an_interface_that_is_down_is_no_result_where_those_that_are_up_are_wanted(command):
    """The program prints an empty object in its place."""
    prepare = "ip link set lo up; ip link add one type veth peer name two"

    done = alone(prepare, command, "--up")

    assert [event["ifname"] for event in done.results] == ["lo"]
    assert (done.summary["count"], done.summary["truncated"]) == (1, False)


def test_neighbours_and_rules_are_told():
    prepare = "ip link set lo up; ip neigh add 192.0.2.9 lladdr 02:00:00:00:00:01 dev lo nud permanent"

    neighbours = alone(prepare, "neigh")
    rules = alone("true", "rule")

    # On the loopback interface, the kernel keeps one neighbour for all addresses.
    assert [(event["dev"], event["state"]) for event in neighbours.results] == [("lo", ["PERMANENT"])]
    assert [event["table"] for event in rules.results][:1] == ["local"]


@pytest.mark.parametrize(
    "words, category, code, status",
    [
        (["addr", "--dev", "nope"], "not_found", "DEVICE_NOT_FOUND", 1),
        (["route", "--table", "4321"], "not_found", "TABLE_NOT_FOUND", 2),
        (["route", "--table", "nonsense"], "usage", "IP_USAGE", 255),
    ],
)
def test_what_is_not_there_is_told_by_status_and_words(words, category, code, status):
    """An unknown table is a JSON array that is begun and never closed, with exit status 2."""
    done = alone("true", *words)

    assert (done.error["category"], done.error["code"]) == (category, code)
    assert done.summary["upstream"]["exit"] == status
    assert done.summary["ok"] is False


def test_a_name_that_is_an_option_is_refused_before_anything_runs():
    done = alone("true", "addr", "--dev=-netns")

    assert done.error["code"] == "INPUT_LOOKS_LIKE_OPTION"


def test_one_that_stops_in_the_middle_is_never_ok(tmp_path):
    answer = '[{"ifindex":1,"ifname":"lo","flags":[],"addr_info":[]},{"ifin'

    done = wrap("ip", "addr", env=stand_in(tmp_path, "ip", prints=answer))

    assert [event["ifname"] for event in done.results] == ["lo"]
    assert (done.error["code"], done.summary["ok"]) == ("UPSTREAM_INCOMPLETE", False)
    assert done.summary["partial"] is True
