"""Identifiers that are made, not given."""

from operable.kernel.ids import trace_id


def test_a_trace_id_is_32_hex_digits_and_always_another():
    made = {trace_id() for _ in range(1000)}
    assert len(made) == 1000
    assert all(len(one) == 32 and set(one) <= set("0123456789abcdef") for one in made)
