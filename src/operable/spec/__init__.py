"""The standards as data: what each draft asks for, and the JSON Schemas that we publish.

`requirements()` is the list behind the conformance tests; `schema(name)` gives one published schema. Data files are read
when asked for, never at import. This package knows nothing of the rest of the product; the tests tie the two together.
"""

from operable.spec.published import schema, schema_names
from operable.spec.required import Requirement, requirements

__all__ = ["Requirement", "requirements", "schema", "schema_names"]
