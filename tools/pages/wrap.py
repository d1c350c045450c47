"""docs/reference/wrap.md: wrapped programs, from the signatures and docstrings of operable.wrap."""

from tools.api import gaps, page

PATH = "docs/reference/wrap.md"

# In the order in which a caller meets them. A public name that is missing here fails the generator.
PARTS = {
    "Loading": ("names", "load"),
    "Parsing": ("Upstream", "WrapCommandPlan", "WrapPlan"),
}
# Words for parameters and members that have none in the source (tools.api).
TEXTS: dict[str, dict[str, str]] = {
    "WrapCommandPlan": {"": "WrapCommandPlan(**fields)", "adopt": ""},
    "WrapPlan": {"": "WrapPlan(**fields)", "adopt": ""},
    "Upstream": {
        "plan": "The plan of the wrapper.",
        "command": "The command that was called, as its plan has it.",
        "inputs": "The inputs of the call.",
        "context": "The circumstances of the run (`operable.tool.Context`).",
        "page": "",
        "too_long": "The error of a record that is longer than the limit.",
        "timed_out": "The error of a program that did not end in time.",
        "after": "The cursor field of the last row of the page before.",
        "fetch": "How many rows are worth fetching; None: all.",
        "stdin": "What the program gets on its standard input.",
        "end": "How the program ended, once it has.",
    },
}


def render() -> str:
    return page("operable.wrap", PARTS, TEXTS, "[wrap a tool](../guides/wrap-a-tool.md)")


def missing() -> list[str]:
    """What this page does not explain."""
    return gaps("operable.wrap", PARTS, TEXTS)
