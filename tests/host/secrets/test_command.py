"""A command as the place of a secret: only for a caller who allows commands, and in bounds."""

import pytest

from operable.host.secret_backend import SecretScope, fetch
from operable.kernel.errors import Fail
from operable.kernel.redact import Known


def test_what_the_line_prints_is_the_value_and_is_known_before_the_caller_has_it():
    known = Known()
    scope = SecretScope(
        commands=lambda line, variables, timeout: f" {line} {variables['WHO']} {timeout:g}\n",
        variables={"WHO": "me"},
        timeout=3.0,
        trim=str.strip,
        known=known,
    )

    assert fetch("command", "print-token", scope) == "print-token me 3"
    assert "print-token me 3" not in known.text("it said print-token me 3.")


def test_without_consent_no_command_is_run():
    with pytest.raises(Fail) as caught:
        fetch("command", "touch /nowhere", SecretScope())

    assert (caught.value.category, caught.value.code) == ("authz", "SECRET_COMMAND_REFUSED")


def test_a_line_that_fails_is_an_error_that_repeats_nothing_of_it():
    def run(*_: object) -> str:
        raise ValueError("exit 3")

    with pytest.raises(Fail) as caught:
        fetch("command", "print-token --password hunter2", SecretScope(commands=run))

    assert (caught.value.code, caught.value.message) == ("SECRET_BACKEND_FAILED", "command failed (exit 3)")
