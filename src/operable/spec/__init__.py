"""The standards as data: what each draft asks for, and the JSON Schemas that we publish.

`requirements()` is the list behind the conformance tests; `schema(name)` gives one published schema. Data files are read
when asked for, never at import. This package knows nothing of the rest of the product; the tests tie the two together.
"""

from operable import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from operable.spec.published import schema as schema
    from operable.spec.published import schema_names as schema_names
    from operable.spec.required import Requirement as Requirement
    from operable.spec.required import requirements as requirements

__all__ = ["Requirement", "requirements", "schema", "schema_names"]

__getattr__ = lazily(
    __name__,
    {
        "Requirement": "operable.spec.required",
        "requirements": "operable.spec.required",
        "schema": "operable.spec.published",
        "schema_names": "operable.spec.published",
    },
)
