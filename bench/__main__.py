"""Run the benchmarks: `python -m bench [NAME…]`; every module of this directory with a `main() -> int` is one.

Each prints its own table, measured against its reference in the same run: ratios mean something on a noisy machine, seconds
do not. A benchmark that misses its target returns 1, and so does this command at the end.
"""

import importlib
import pkgutil
import sys
from pathlib import Path


def main(wanted: list[str]) -> int:
    names = [
        module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]) if module.name[0] != "_"
    ]
    if unknown := [name for name in wanted if name not in names]:
        print(f"No benchmark {', '.join(unknown)}. There are: {', '.join(names)}.", file=sys.stderr)
        return 64
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
