"""What goes to stderr: what the SDKs and the agent itself write for a user who looks into a problem, without secrets.

Nothing here is part of the protocol. Every line passes redaction, by look and by the values that the environment contains
under secret names, because libraries log what they like.
"""

import logging
import sys
from collections.abc import Mapping
from typing import Any

from operable.agent.secrecy import known_secrets
from operable.kernel.redact import Known, Redactor

_DEFAULT = "warning"


class _Redacting(logging.Formatter):
    def __init__(self, secrets: Known) -> None:
        super().__init__("operable-agent: %(levelname)s: %(name)s: %(message)s")
        self._redactor = Redactor(secrets)

    def format(self, record: logging.LogRecord) -> str:
        return self._redactor.text(super().format(record))


def keep_logs(options: Mapping[str, Any], environment: Mapping[str, str]) -> None:
    """From now on; `--log-level` says how much."""
    to_stderr = logging.StreamHandler(sys.stderr)
    to_stderr.setFormatter(_Redacting(known_secrets(options, environment)))
    level = options.get("log_level", _DEFAULT).upper()
    logging.basicConfig(handlers=[to_stderr], level=level, force=True)
