"""ISO-8601 durations as manifests write them: `PT1H30M`, `P7D`, `P1W`. A month counts as 30 days, a year as 365."""

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
# More digits than any duration needs; a float of thousands of digits is infinite.
_LENGTH = 64


def seconds(duration: str) -> float:
    """The length of a duration; ValueError for anything else."""
    found = _DURATION.fullmatch(duration) if len(duration) <= _LENGTH else None
    if found is None:
        raise ValueError(f"{duration[:_LENGTH]!r} is not an ISO-8601 duration such as PT1H")
    return sum(float(count) * _UNITS[unit] for unit, count in found.groupdict(default="0").items())
