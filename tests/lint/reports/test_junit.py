"""JUnit XML, by the rules of the two schemas that its readers have: Ant's, and that of the xUnit plugin of Jenkins.

Both are written down here as the table that they amount to; where they differ, the narrower one counts.
"""

import re
from dataclasses import replace
from xml.etree.ElementTree import Element, fromstring

import pytest

from operable.lint.engine import Report
from operable.lint.reports.junit import REPORT
from tests.lint.reports.findings import PASSED, report

COUNT, SECONDS = r"\d+", r"\d+\.\d{3}"
# Element -> its attributes (all of them have to be there, but for those of SPARED), and its children in order.
ATTRIBUTES = {
    "testsuites": {},
    "testsuite": {
        "id": COUNT,
        "tests": COUNT,
        "failures": COUNT,
        "errors": COUNT,
        "skipped": COUNT,
        "time": SECONDS,
        "name": ".+",
        "package": ".+",
        "hostname": ".+",
        "timestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d",
    },
    "testcase": {"name": ".+", "classname": ".+", "time": SECONDS},
    "failure": {"message": "(?s).+", "type": ".+"},
    "skipped": {"message": "(?s).+"},
    "properties": {},
    "system-out": {},
    "system-err": {},
}
CHILDREN = {
    "testsuites": "(testsuite )*",
    "testsuite": "properties (testcase )*system-out system-err ",
    "testcase": "(failure |skipped )?",
}


def check(element: Element) -> None:
    rules = ATTRIBUTES[element.tag]
    assert set(element.attrib) == set(rules), element.tag
    for name, value in element.attrib.items():
        assert re.fullmatch(rules[name], value), (element.tag, name, value)
    order = "".join(f"{child.tag} " for child in element)
    assert re.fullmatch(CHILDREN.get(element.tag, ""), order), (element.tag, order)
    for child in element:
        check(child)


def parsed(*reports: Report, level="MUST", known=frozenset()) -> Element:
    return fromstring(REPORT.render(reports, level, known).encode())


@pytest.mark.parametrize("reports", [(), (report(),), (report(), report()), (Report("", "/x"),)])
def test_the_file_is_what_readers_of_junit_expect(reports):
    root = parsed(*reports)

    check(root)
    assert [suite.get("id") for suite in root] == [str(number) for number in range(len(reports))]


def test_the_numbers_of_a_suite_are_those_of_its_cases():
    (suite,) = parsed(report())

    cases = suite.findall("testcase")
    numbers = {name: int(suite.get(name, "")) for name in ("tests", "failures", "skipped", "errors")}
    assert numbers == {"tests": 6, "failures": 2, "skipped": 2, "errors": 0}
    assert numbers["tests"] == len(cases)
    assert numbers["failures"] == len(suite.findall("testcase/failure"))
    assert numbers["skipped"] == len(suite.findall("testcase/skipped"))


def test_a_case_is_one_check_of_one_command_and_tells_everything_that_it_found():
    (suite,) = parsed(report())
    cases = {(case.get("classname"), case.get("name")): case for case in suite.findall("testcase")}

    assert len(cases) == 6
    assert cases["notes.list", "check 3"].get("time") == "0.250"
    failure = cases["notes.create <&>", "check 3"].find("failure")
    assert failure is not None
    assert failure.get("message") == 'a "name" & <tag>\ufffd[31m \ufffd \ufffd ]]>; again'
    assert str(failure.text).count("tool 'a\nb' < /dev/null") == 2
    skipped = cases["notes.list", "check 10"].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "untested: no \ufffd signal"


def test_advice_fails_a_case_only_when_asked_to():
    strict = parsed(report(), level="SHOULD")

    assert [suite.get("failures") for suite in (*parsed(report()), *strict)] == ["2", "3"]


def test_the_name_that_a_tool_gives_itself_cannot_break_the_file():
    hostile = replace(report(), tool='a\x00"<b>\ud800', findings=[PASSED])

    (suite,) = parsed(hostile)

    assert suite.get("package") == 'a\ufffd"<b>\ufffd'
