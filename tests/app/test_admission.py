"""Which calls are refused before there is a process."""

import pytest

from operable.app.admission import command_path, needs_confirmation, require_confirmation
from operable.app.packages import read
from operable.kernel.errors import Fail
from tests.app.making import made, package_at
from tests.requirement import requirement


@pytest.fixture
def package(tmp_path):
    return read(str(made(tmp_path / "one")), "project")


@requirement("appmd:decision:command-paths")
def test_the_longest_documented_command_counts(package):
    assert command_path(package, ["list", "--all"]) == "list"
    assert command_path(package, ["item", "add", "x"]) == "item add"
    assert command_path(package, ["item", "x"]) == "item"


@requirement("appmd:commands:documented-only")
@pytest.mark.parametrize("words", [[], ["fly"], ["--force", "remove"], ["item add"], ["LIST"], ["rem"]])
def test_what_is_not_documented_is_refused(package, words):
    with pytest.raises(Fail) as caught:
        command_path(package, words)
    assert caught.value.code == "UNKNOWN_APP_COMMAND"


@requirement("appmd:confirmation:before-the-process", "appmd:decision:confirmation-prefix")
@pytest.mark.parametrize(
    "words, needed",
    [
        (["remove", "x"], True),
        (["remove"], True),
        (["list", "remove"], False),
        (["item", "remove", "x"], True),
        (["item", "--force", "remove", "x"], True),
        (["item", "--format", "json", "remove", "x"], True),
        (["item", "rem", "x"], True),
        (["item", "Remove", "x"], True),
        (["item", " remove ", "x"], True),
        (["item", "", "remove", "x"], True),
        (["item", "remove x"], True),
        (["item", "\uff52\uff45\uff4d\uff4f\uff56\uff45", "x"], True),
        (["item", "re\u200bmove", "x"], True),
        (["item", "--force=yes", "remove"], True),
        (["item", "add", "remove"], False),
        (["item", "removed", "x"], False),
        (["item", "x"], False),
        (["item", ""], False),
    ],
)
def test_confirmation_matches_by_prefix_and_cannot_be_hidden(package, words, needed):
    assert needs_confirmation(package, words) is needed
    if needed:
        with pytest.raises(Fail) as caught:
            require_confirmation(package, words, confirmed=False)
        assert caught.value.code == "CONFIRMATION_REQUIRED"
    require_confirmation(package, words, confirmed=True)


def test_an_upper_command_covers_those_below_it(tmp_path):
    package = package_at(made(tmp_path / "two", more="confirmationRequired: [item]"))
    assert needs_confirmation(package, ["item", "add", "x"])
    assert not needs_confirmation(package, ["list"])
