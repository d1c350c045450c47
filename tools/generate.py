"""Write the generated files, or with `--check` only say which are stale (exit status 1).

A directory is the registry: each module in tools/pages has `PATH`, relative to the checkout, and `render() -> str`. A module
whose `PATH` is a folder (it ends with a slash) gives a dictionary of file names and texts, and owns all files of the folder.
"""

import difflib
import importlib
import pkgutil
import sys
from pathlib import Path
from typing import Any

from tools import pages

ROOT = Path(__file__).parents[1]


def main(arguments: list[str]) -> int:
    stale = 0
    for page in pkgutil.iter_modules(pages.__path__, "tools.pages."):
        for path, text in rendered(importlib.import_module(page.name)).items():
            before = path.read_text("utf-8") if path.exists() else None
            if before == text:
                continue
            name = path.relative_to(ROOT)
            if "--check" in arguments:
                stale += 1
                print(f"{name} is stale; `./dev fix` regenerates it")
                difference = ((before or "").splitlines(), (text or "").splitlines())
                print("\n".join(difflib.unified_diff(*difference, lineterm="", n=0)))
            elif text is None:
                path.unlink()
                print(f"removed {name}")
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
                print(f"wrote {name}")
    return 1 if stale else 0


def rendered(module: Any) -> dict[Path, str | None]:
    """The files that a module of tools/pages owns, with what they must say; None: the file must go."""
    place = ROOT / module.PATH
    made = module.render()
    if isinstance(made, str):
        return {place: made}
    surplus = {path: None for path in place.glob("*") if path.name not in made}
    return {**surplus, **{place / name: text for name, text in made.items()}}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
