"""A new tool of the SDK: the files of `template/`, with its name put in. `operable init tool` writes them."""

from __future__ import annotations

import os

TEMPLATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "template")


def checked(slug: str, folder: str) -> str:
    """The folder that a new tool would get; Fail when it is there, or the name is none."""
    from operable.app.skeleton import checked as checked_slug

    return checked_slug(slug, folder, what="a tool", code="TOOL_NAME")


def scaffold(slug: str, folder: str) -> list[str]:
    """Write the folder of the tool; the paths of its files."""
    from operable.app.skeleton import laid_out

    module = slug.replace("-", "_")
    texts = {"slug": slug, "module": module, "variable": module.upper()}
    return laid_out(TEMPLATE, checked(slug, folder), texts, {"NAME": module})
