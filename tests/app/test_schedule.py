"""Only the scheduling commands that APP.md documents."""

import pytest

from operable.app.packages import read
from operable.app.schedule import Schedule, require_schedulable, schedules
from operable.kernel.errors import Fail
from tests.app.making import made
from tests.requirement import requirement

COMMANDS = "[list, schedule add, schedule drop, every, unschedule]"
BODY = """# App

`unschedule` stands here, but not under the heading.

## Scheduling

Use `every DAY` or:

```sh
python3 app/cli.py schedule add --at 9:00
# not a heading
```

### More about scheduling

Say `schedule invent` as often as you like.

## Skills

`schedule drop`
"""


def package(folder, more="scheduling: supported"):
    return read(str(made(folder / "one", commands=COMMANDS, more=more, body=BODY)), "project")


@requirement("appmd:scheduling:documented-only")
def test_the_documented_ones_are_listed_with_their_usage(tmp_path):
    assert schedules(package(tmp_path)) == [
        Schedule("every", "every DAY"),
        Schedule("schedule add", "python3 app/cli.py schedule add --at 9:00"),
    ]


@requirement("appmd:scheduling:documented-only")
def test_another_that_is_called_like_one_is_refused(tmp_path):
    one = package(tmp_path)
    require_schedulable(one, ["every", "monday"])
    require_schedulable(one, ["schedule", "add"])
    require_schedulable(one, ["list"])
    for words in (["schedule", "drop"], ["unschedule"]):
        with pytest.raises(Fail) as caught:
            require_schedulable(one, words)
        assert caught.value.code == "SCHEDULING_UNDOCUMENTED"


@requirement("appmd:scheduling:absent-is-no")
@pytest.mark.parametrize("more", ["scheduling: notSupported", "tags: []"])
def test_without_support_none_is_called(tmp_path, more):
    one = package(tmp_path, more)
    for words in (["every", "monday"], ["schedule", "add"], ["unschedule"]):
        with pytest.raises(Fail) as caught:
            require_schedulable(one, words)
        assert caught.value.code == "SCHEDULING_NOT_SUPPORTED"
    require_schedulable(one, ["list"])
    with pytest.raises(Fail):
        schedules(one)


@requirement("appmd:scheduling:documented-only")
@pytest.mark.parametrize("more", ["scheduling: supported", "scheduling: notSupported"])
def test_no_option_hides_a_scheduling_command_behind_the_one_above_it(tmp_path, more):
    body = "# App\n\n## Scheduling\n\n`job every`\n"
    commands = "[job, job schedule, job every, job list]"
    one = read(str(made(tmp_path / "one", commands=commands, more=more, body=body)), "project")
    assert one is not None
    for words in (["job", "--now", "schedule"], ["job", "--at=9", "schedule", "x"]):
        with pytest.raises(Fail) as caught:
            require_schedulable(one, words)
        assert caught.value.target == "job schedule"
    require_schedulable(one, ["job", "--now", "list"])
