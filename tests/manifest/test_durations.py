import pytest

from operable.manifest.durations import seconds


@pytest.mark.parametrize(
    "text, length",
    [
        ("PT1H", 3600),
        ("PT1H30M", 5400),
        ("P1D", 86400),
        ("P1W", 604800),
        ("PT0.5S", 0.5),
        ("P1DT1S", 86401),
        ("P1M", 2592000),
        ("PT0S", 0),
    ],
)
def test_a_duration_has_a_length(text, length):
    assert seconds(text) == length


@pytest.mark.parametrize(
    "text", ["", "P", "PT", "1H", "PT1", "P1H", "PT1H1H", "-PT1H", "P1DT", "PT" + "9" * 80 + "S", "PT１H"]
)
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError, match="not an ISO-8601 duration"):
        seconds(text)
