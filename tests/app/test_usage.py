"""How commands are used, by the text of an APP.md."""

import pytest

from operable.app.packages import read
from operable.app.usage import Schedule, require_schedulable, schedules, usages
from operable.kernel.errors import Fail
from tests.app.making import made, package_at
from tests.requirement import requirement

BODY = """# App

| command | does |
|---|---|
| `list [--status open\\|done]` | shows |
| `item add NAME` | adds |

`list` is short. ``get`` too.

```sh
python3 app/widget.py get ID --long  # see `item`
# list [--in-a-comment and longer than the other one is]
```

`item` alone; `remove` and `remove LONG`
""".replace("LONG", "x" * 400)


def test_the_longest_line_that_shows_a_command_counts(tmp_path):
    package = package_at(made(tmp_path / "one", body=BODY))
    assert usages(package) == {
        "list": "list [--in-a-comment and longer than the other one is]",
        "item add": "item add NAME",
        "get": "get ID --long  # see `item`",
        "item": "item",
        "remove": "remove",
    }


def test_the_bars_of_a_table_are_as_they_are_typed(tmp_path):
    package = package_at(made(tmp_path / "one", body="| `list [--status open\\|done]` | shows |"))
    assert usages(package) == {"list": "list [--status open|done]"}


def test_a_text_without_code_shows_nothing(tmp_path):
    assert usages(package_at(made(tmp_path / "one", body="Use list.\n"))) == {}


COMMANDS = "[list, schedule add, schedule drop, every, unschedule]"
SCHEDULE_BODY = """# App

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
    return read(str(made(folder / "one", commands=COMMANDS, more=more, body=SCHEDULE_BODY)), "project")


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
