"""`operable wrap TOOL …`: the words of a wrapped tool are its own: they are handed over before anybody reads them."""

from __future__ import annotations


def call_wrapped(words: list[str]) -> None:
    """Run a wrapped tool and end the process; returns when the words mean a command of `operable wrap` itself."""
    from operable.wrap.places import RESERVED

    name = words[0]
    if name == "--mcp" and len(words) > 1:
        from operable.wrap.from_mcp import main as bridge

        bridge(words[1], words[2:])
    if name.startswith("-") or name in RESERVED or name == "help":
        return
    from operable.wrap.front import main

    main(name, words[1:])
