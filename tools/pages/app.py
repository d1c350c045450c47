"""docs/reference/app.md: Agent Applications, from the signatures and docstrings of operable.app."""

from tools.api import gaps, page

PATH = "docs/reference/app.md"

# In the order in which a caller meets them. A public name that is missing here fails the generator.
PARTS = {
    "Finding": ("catalog", "find", "Package"),
    "Reading": ("activate", "Activated", "resource", "schedules", "validate"),
    "Approving": ("Approvals", "Standing"),
    "Calling": ("call", "acall", "Answer"),
    "Writing one": ("scaffold",),
}
# Words for parameters and members that have none in the source (tools.api).
TEXTS: dict[str, dict[str, str]] = {
    "Package": {
        "slug": "The name by which it is called.",
        "path": "Its APP.md.",
        "root": "Its folder.",
        "app": "Its frontmatter as a typed value; None when the file is wrong.",
        "problem": "What is wrong with the file.",
    },
    "Activated": {
        "package": "The package.",
        "body": "The text of its APP.md.",
        "skills": "Its skills: name and text.",
    },
    "Approvals": {
        "standing": "Whether a package may run as it is now, and why.",
        "path": "The file; that of the state directory when left out.",
    },
    "Standing": {
        "trusted": "Whether it may run.",
        "reason": "Why, or why not.",
        "shell": "Whether it may also be run by a shell.",
        "content": "What was looked at.",
        "changed": "The files that differ from what was approved.",
    },
    "Answer": {
        "ok": "Whether the call succeeded.",
        "value": "What the application printed, as a JSON value.",
        "status": "The exit status; negative for a signal.",
        "code": "The stable name of a failure.",
        "category": "The category of a failure.",
        "message": "The failure as a sentence.",
        "diagnostics": "What it wrote to stderr: bounded, masked.",
        "stream": "The bytes of an application that speaks AOI.",
        "verdict": "The verdict on that stream.",
        "details": "Further facts of a failure.",
    },
}


def render() -> str:
    return page("operable.app", PARTS, TEXTS, "[run an application](../guides/run-an-app.md)")


def missing() -> list[str]:
    """What this page does not explain."""
    return gaps("operable.app", PARTS, TEXTS)
