"""Redaction, the one place for it (AOI-CLI section 11): what is logged, recorded, sealed or shown passes here.

Two means that add up. *By value*: `known` holds the secrets that a session or a run knows, in every spelling in which
they travel (`forms`). *By look*: names (`names`), addresses (`urls`), token shapes (`shapes`), text (`prose_rules`),
structured data (`structure`). `Redactor` joins both.

Names are looked up on first use: the parameter table of a tool asks `names` on its cold-start path and loads nothing
else.
"""

from operable import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from operable.kernel.redact.known_values import Known as Known
    from operable.kernel.redact.known_values import StreamMask as StreamMask
    from operable.kernel.redact.known_values import as_known as as_known
    from operable.kernel.redact.names import MASK as MASK
    from operable.kernel.redact.names import is_secret_name as is_secret_name
    from operable.kernel.redact.redactor import Redactor as Redactor
    from operable.kernel.redact.redactor import redact_text as redact_text
    from operable.kernel.redact.redactor import redact_value as redact_value
    from operable.kernel.redact.structure import redact_argv as redact_argv
    from operable.kernel.redact.structure import redact_env as redact_env
    from operable.kernel.redact.structure import redact_headers as redact_headers
    from operable.kernel.redact.urls import redact_url as redact_url

_HOMES = {
    "Known": "operable.kernel.redact.known_values",
    "MASK": "operable.kernel.redact.names",
    "Redactor": "operable.kernel.redact.redactor",
    "StreamMask": "operable.kernel.redact.known_values",
    "as_known": "operable.kernel.redact.known_values",
    "is_secret_name": "operable.kernel.redact.names",
    "redact_argv": "operable.kernel.redact.structure",
    "redact_env": "operable.kernel.redact.structure",
    "redact_headers": "operable.kernel.redact.structure",
    "redact_text": "operable.kernel.redact.redactor",
    "redact_url": "operable.kernel.redact.urls",
    "redact_value": "operable.kernel.redact.redactor",
}

__all__ = [
    "MASK",
    "Known",
    "Redactor",
    "StreamMask",
    "as_known",
    "is_secret_name",
    "redact_argv",
    "redact_env",
    "redact_headers",
    "redact_text",
    "redact_url",
    "redact_value",
]

__getattr__ = lazily(__name__, _HOMES)
