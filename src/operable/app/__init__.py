"""Agent Applications: packages with an APP.md, found, trusted, loaded in three steps, and called under enforced rules.

    from operable.app import call, find

    answer = call(find("todo-app"), ["list"])
    answer.ok, answer.value

Names are looked up on first use: listing packages does not load what runs processes.
"""

from operable import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from operable.app.answers import Answer as Answer
    from operable.app.invocation import acall as acall
    from operable.app.invocation import call as call
    from operable.app.packages import Activated as Activated
    from operable.app.packages import Package as Package
    from operable.app.packages import activate as activate
    from operable.app.packages import resource as resource
    from operable.app.shelf import catalog as catalog
    from operable.app.shelf import find as find
    from operable.app.skeleton import scaffold as scaffold
    from operable.app.trust import Approvals as Approvals
    from operable.app.trust import Standing as Standing
    from operable.app.usage import schedules as schedules
    from operable.app.validation import validate as validate

_HOMES = {
    "Activated": "operable.app.packages",
    "Answer": "operable.app.answers",
    "Approvals": "operable.app.trust",
    "Package": "operable.app.packages",
    "Standing": "operable.app.trust",
    "acall": "operable.app.invocation",
    "activate": "operable.app.packages",
    "call": "operable.app.invocation",
    "catalog": "operable.app.shelf",
    "find": "operable.app.shelf",
    "resource": "operable.app.packages",
    "scaffold": "operable.app.skeleton",
    "schedules": "operable.app.usage",
    "validate": "operable.app.validation",
}

__all__ = [
    "Activated",
    "Answer",
    "Approvals",
    "Package",
    "Standing",
    "acall",
    "activate",
    "call",
    "catalog",
    "find",
    "resource",
    "scaffold",
    "schedules",
    "validate",
]

__getattr__ = lazily(__name__, _HOMES)
