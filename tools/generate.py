"""Write the generated files, or with `--check` only say which are stale (exit status 1).

A directory is the registry: each module in tools/pages has `PATH`, relative to the checkout, and `render() -> str`.
"""

import difflib
import importlib
import pkgutil
import sys
from pathlib import Path

from tools import pages

ROOT = Path(__file__).parents[1]


def main(arguments: list[str]) -> int:
    stale = 0
    for page in pkgutil.iter_modules(pages.__path__, "tools.pages."):
        module = importlib.import_module(page.name)
        path, text = ROOT / module.PATH, module.render()
        before = path.read_text("utf-8") if path.exists() else ""
        if before == text:
            continue
        if "--check" in arguments:
            stale += 1
            print(f"{module.PATH} is stale; `./dev fix` regenerates it")
            print("\n".join(difflib.unified_diff(before.splitlines(), text.splitlines(), lineterm="", n=0)))
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            print(f"wrote {module.PATH}")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
