"""Run the benchmarks: `python -m bench [NAME…]`; every module of this directory with a `main() -> int` is one.

Words behind one name that begin with an option are for that benchmark: `python -m bench enclosure --before CHECKOUT`.

Each prints its own table, measured against its reference in the same run: ratios mean something on a noisy machine, seconds
do not. A benchmark that misses its target returns 1, and so does this command at the end.
"""

import importlib
import pkgutil
import sys
from pathlib import Path


def main(words: list[str]) -> int:
    at = next((position for position, word in enumerate(words) if word.startswith("-")), len(words))
    wanted, options = words[:at], words[at:]
    names = [
        module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]) if module.name[0] != "_"
    ]
    if unknown := [name for name in wanted if name not in names]:
        print(f"No benchmark {', '.join(unknown)}. There are: {', '.join(names)}.", file=sys.stderr)
        return 64
    if options and len(wanted) != 1:
        print(f"Options ({' '.join(options)}) are for one benchmark: name it before them.", file=sys.stderr)
        return 64
    sys.argv[1:] = options
    missed = []
    for name in wanted or names:
        module = importlib.import_module(f"bench.{name}")
        if not hasattr(module, "main"):
            continue
        print(f"\n== {name}: {(module.__doc__ or '').strip().splitlines()[0]}", flush=True)
        if module.main():
            missed.append(name)
    if missed:
        print(f"\nMissed their targets: {', '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
