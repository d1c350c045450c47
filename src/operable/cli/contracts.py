"""Where `operable diff` gets a release from: a program, a JSON file, or a directory of JSON files."""

from __future__ import annotations

import os
from dataclasses import replace

from operable.kernel.errors import Fail
from operable.run.contract import Contract, contract_of, from_file


def contract(place: str) -> Contract:
    """The contract of a release. A directory contains what the tool printed (its schema, its capabilities), by any names."""
    if not os.path.isdir(place):
        return contract_of(place)
    whole = Contract()
    for name in sorted(os.listdir(place)):
        if name.endswith(".json"):
            found = from_file(os.path.join(place, name))
            whole = replace(
                whole,
                schema=whole.schema or found.schema,
                capabilities=whole.capabilities or found.capabilities,
                inputs=whole.inputs | found.inputs,
            )
    if whole.schema is None and whole.capabilities is None:
        raise Fail(
            "not_found",
            "CONTRACT_NOT_FOUND",
            f"{place} contains neither an event schema nor a capability manifest",
            target=place,
            hint=f"TOOL schema --output json > {os.path.join(place, 'schema.json')}",
        )
    return whole
