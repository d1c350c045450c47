"""Inventories for tests, made as a host gets them: from the values of a SECRETS.md."""

from typing import Any

import msgspec

from operable.manifest.kinds.secrets import Secrets


def inventory(*entries: dict[str, Any]) -> Secrets:
    described = [{"name": entry["slug"], "description": "for a test", **entry} for entry in entries]
    return msgspec.convert({"secrets": described}, Secrets)
