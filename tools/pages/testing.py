"""docs/reference/testing.md: fakes for tests, from the signatures and docstrings of operable.testing."""

from tools.api import gaps, page

PATH = "docs/reference/testing.md"

# In the order in which a caller meets them. A public name that is missing here fails the generator.
PARTS = {
    "A model": ("ModelServer", "Exchange"),
    "An agent": ("scripted_command", "ScriptError"),
    "Recorded conversations": ("AgentCassette", "CassetteEntry", "load", "save", "pieces", "mutate"),
}
# Words for parameters and members that have none in the source (tools.api).
TEXTS: dict[str, dict[str, str]] = {
    "ModelServer": {
        "url": "The address for a client, without a path.",
        "scripts": "Replies by the name of their script.",
        "default": "The replies to a prompt that names no script.",
        "host": "Where to listen.",
        "port": "Where to listen; 0 takes a free port.",
    },
    "Exchange": {
        "path": "The path of the request.",
        "headers": "Its headers; a credential is replaced.",
        "body": "Its body as a JSON value.",
        "position": "Which reply of which script it got.",
    },
}


def render() -> str:
    return page("operable.testing", PARTS, TEXTS, "[test without a model](../guides/test-without-a-model.md)")


def missing() -> list[str]:
    """What this page does not explain."""
    return gaps("operable.testing", PARTS, TEXTS)
