"""ISO-8601 durations as manifests write them: `PT1H30M`, `P7D`, `P1W`. A month counts as 30 days, a year as 365.

People write an age shorter: `90s`, `30m`, `2h`, `7d` (`age_of`).
"""

from __future__ import annotations

import re

_DURATION = re.compile(
    r"P(?=.)(?:(?P<years>\d+)Y)?(?:(?P<months>\d+)M)?(?:(?P<weeks>\d+)W)?(?:(?P<days>\d+)D)?"
    r"(?:T(?=.)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?",
    re.ASCII,
)
_DAY = 86_400
_UNITS = {
    "years": 365 * _DAY,
    "months": 30 * _DAY,
    "weeks": 7 * _DAY,
    "days": _DAY,
    "hours": 3600,
    "minutes": 60,
    "seconds": 1,
}
_AGES = {"s": 1, "m": 60, "h": 3600, "d": _DAY}
# More digits than any duration needs; a float of thousands of digits is infinite.
_LENGTH = 64


def seconds(duration: str) -> float:
    """The length of a duration; ValueError for anything else."""
    found = _DURATION.fullmatch(duration) if len(duration) <= _LENGTH else None
    if found is None:
        raise ValueError(f"{duration[:_LENGTH]!r} is not an ISO-8601 duration such as PT1H")
    return sum(float(count) * _UNITS[unit] for unit, count in found.groupdict(default="0").items())


def age_of(text: str) -> int | None:
    """Seconds in 90s, 30m, 2h or 7d. Returns None for any other text."""
    number, unit = text[:-1], text[-1:]
    return int(number) * _AGES[unit] if unit in _AGES and number.isdecimal() and len(number) < 8 else None
