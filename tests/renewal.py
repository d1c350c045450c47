"""What a run did in full, because what is kept of it is of something older: the closing words of a run name it.

A wrapper that has changed is linted whole in every run until its verdicts are kept again. Twenty-nine of them once took eleven
minutes of processors of each run, and no line said so.
"""

from collections.abc import Iterable

import pytest

PROPERTY = "renewal"


def lines(reports: Iterable[pytest.TestReport]) -> list[str]:
    """What is to be kept again, and how."""
    return sorted(
        {str(value) for report in reports for name, value in report.user_properties if name == PROPERTY}
    )
