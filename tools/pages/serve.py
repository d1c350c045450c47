"""docs/reference/serve.md: tools for programs with models of their own, from the docstrings of operable.serve."""

from tools.api import gaps, page

PATH = "docs/reference/serve.md"

# In the order in which a caller meets them. A public name that is missing here fails the generator.
PARTS = {"Tools": ("Toolset", "ModelTool", "ToolAnswer")}
# Words for parameters and members that have none in the source (tools.api).
TEXTS: dict[str, dict[str, str]] = {
    "Toolset": {
        "workspace": "The folder from which things are found, and whose audit chain has the calls.",
        "on_ask": "Your own way to ask a person: gets the question, returns a Decision, a bool or None.",
        "gate": "The gate of your process, if it has one already.",
    },
    "ModelTool": {
        "": "tools[name]",
        "offer": "",
        "name": "Its name for models.",
        "description": "What it does, and what that promise rests on.",
        "input_schema": "The strict JSON Schema of its arguments.",
    },
    "ToolAnswer": {
        "": "answer = tool.call_now(arguments)",
        "ok": "Whether the call ran and its verdict is a success.",
        "code": "OK, or why not.",
        "content": "What a model reads: ok, code, entries, summary, warnings, errors, truncated.",
        "result": "The result that the content is made of; None: it was not called.",
    },
}


def render() -> str:
    return page(
        "operable.serve", PARTS, TEXTS, "[give tools to a framework](../guides/give-tools-to-a-framework.md)"
    )


def missing() -> list[str]:
    """What this page does not explain."""
    return gaps("operable.serve", PARTS, TEXTS)
