"""What of the agent's environment its tools may see: everything but what is, or looks like, a secret."""

from collections.abc import Mapping

from operable.kernel.redact import is_secret_name, redact_text


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """A model must not read its own key, nor a password that is part of somebody's address."""
    return {
        name: value
        for name, value in environment.items()
        if not is_secret_name(name) and redact_text(value) == value
    }
