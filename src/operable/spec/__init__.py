"""The standards as data: what each draft asks for, and the JSON Schemas that we publish.

`requirements()` is the list behind the conformance tests; `schema(name)` gives one published schema. Data files are read
when asked for, never at import. This package knows nothing of the rest of the product; the tests tie the two together.
"""

from operable import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from operable.spec.data_files import Requirement as Requirement
    from operable.spec.data_files import requirements as requirements
    from operable.spec.data_files import schema as schema
    from operable.spec.data_files import schema_names as schema_names

__all__ = ["Requirement", "requirements", "schema", "schema_names"]

__getattr__ = lazily(
    __name__,
    {
        "Requirement": "operable.spec.data_files",
        "requirements": "operable.spec.data_files",
        "schema": "operable.spec.data_files",
        "schema_names": "operable.spec.data_files",
    },
)
