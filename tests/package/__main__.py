"""`python -m tests.package`: builds the wheel, makes each environment, runs the commands, prints the table and keeps it."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.package import scenes
from tests.package.environments import bare, import_time, with_extra
from tests.package.matrix import KEPT, judged
from tests.package.test_extras import LOCKED


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        base = bare(folder / "wheel")
        (folder / "run").mkdir()
        kept: dict[str, Any] = {
            "python": f"{sys.version_info.major}.{sys.version_info.minor}",
            "import_ms": round(import_time(base, "operable.tool"), 1),
            "bare": judged(base, scenes.scenes(), folder / "run"),
            "environments": {},
        }
        environments = {"": base} | {
            extra: with_extra(base, extra, folder / f"with-{extra}") for extra in LOCKED
        }
        for extra, environment in environments.items():
            facts = {"packages": len(environment.packages), "megabytes": round(environment.megabytes)}
            kept["environments"][extra] = facts
            print(f"{extra or 'bare':10} {facts['packages']:3} packages {facts['megabytes']:4} MB")
    for name, outcome in kept["bare"].items():
        print(f"{outcome:24} operable {name}")
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
