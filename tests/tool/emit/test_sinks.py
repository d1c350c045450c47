"""What may be shown of an event: values without secrets, structure untouched, errors that always come through."""

import json

from operable.kernel.errors import Fail
from operable.tool import Event, Record
from operable.tool.emit.sinks import masked, shown_error

SECRET = "hunter2hunter2"


class Inner(Record):
    token: str


class Outer(Event):
    text: str
    inner: Inner
    many: list[str]


def test_a_secret_is_hidden_wherever_it_is_in_the_values():
    event = Outer(text=f"a {SECRET} b", inner=Inner(token=SECRET), many=[SECRET, "x"]).to_dict()
    assert masked(event, (SECRET,)) == {
        "type": "outer",
        "text": "a [redacted] b",
        "inner": {"token": "[redacted]"},
        "many": ["[redacted]", "x"],
    }


def test_names_and_the_type_stay():
    event = {"type": "password", "password": "password"}
    assert masked(event, ("password",)) == {"type": "password", "password": "[redacted]"}


def test_a_number_is_hidden_only_when_it_is_the_secret():
    event = {"type": "a", "n": 123456, "m": 1234567, "yes": True, "half": 0.5}
    assert masked(event, ("123456", "True")) == {
        "type": "a",
        "n": "[redacted]",
        "m": 1234567,
        "yes": True,
        "half": 0.5,
    }


def test_an_error_keeps_what_consumers_branch_on():
    fail = Fail("internal", "HUNTER2", "hunter2 and internal", hint="hunter2", retryable=True)
    shown = shown_error(fail, ("HUNTER2", "hunter2", "internal"))
    assert (shown["type"], shown["category"], shown["code"], shown["retryable"]) == (
        "aoi:error",
        "internal",
        "HUNTER2",
        True,
    )
    assert (shown["message"], shown["hint"]) == ("[redacted] and [redacted]", "[redacted]")


def test_an_error_is_redacted_by_look_and_by_name():
    shown = shown_error(Fail("io", "X", "https://user:pw12345@host/", password="abc", keys=3), ())
    assert "pw12345" not in shown["message"]
    assert (shown["password"], shown["keys"]) == ("[redacted]", 3)


def test_an_error_comes_through_whatever_its_author_has_put_into_it():
    deep: list[object] = []
    for _ in range(10_000):
        deep = [deep]
    fail = Fail("io", "X", "x", thing=object(), number=float("nan"), deep=deep, fine={"a": [1]})
    shown = json.loads(json.dumps(shown_error(fail, ("abcdef",))))
    assert (shown["thing"], shown["number"], shown["fine"]) == ("(object)", "(float)", {"a": [1]})
