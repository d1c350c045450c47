"""What a person is shown before saying yes."""

from operable.kernel.visible import spelt_out


def test_what_can_be_seen_stays_as_it_is():
    assert spelt_out("Zoë löscht 消す 'a b'") == "Zoë löscht 消す 'a b'"


def test_what_cannot_be_seen_is_spelt_out():
    assert spelt_out("a\x1b[2K\u202eb\u200b\n\x9b\ud800") == "a\\x1b[2K\\u202eb\\u200b\\n\\x9b\\ud800"


def test_what_is_left_out_is_said_to_be():
    assert spelt_out("x" * 10, 10) == "x" * 10
    assert spelt_out("x" * 15, 10) == "x" * 10 + "… (and 5 more characters)"
