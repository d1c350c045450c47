import re

from operable.lint.report import fingerprint
from operable.lint.reports.html import REPORT
from tests.lint.reports.findings import report


def words(text: str) -> list[tuple[str, str]]:
    """The class and the last word of every heading of a finding."""
    return re.findall(r'<h3 class="(\w+)">[^<]*: (\w+)</h3>', text)


def test_only_what_fails_the_run_is_shown_as_a_failure():
    made = report()
    known = frozenset({fingerprint(made.tool, made.findings[1])})

    usual = [word for _, word in words(REPORT.render([made], "MUST", frozenset()))]
    strict = [word for _, word in words(REPORT.render([made], "SHOULD", frozenset()))]
    excused = [word for _, word in words(REPORT.render([made], "MUST", known))]

    assert usual == ["fail", "fail", "fail", "advice", "untested"]
    assert strict == ["fail", "fail", "fail", "fail", "untested"]
    assert excused == ["known", "fail", "fail", "advice", "untested"]
    assert all(kind == word for kind, word in words(REPORT.render([made], "MUST", known)))
