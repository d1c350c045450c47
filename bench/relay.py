"""What it costs to have a tool run and judged: `operable run -- TOOL` beside the tool alone.

A tool that does nothing but print 200,000 events of 200 bytes, which is the worst case for whoever passes them on. CPU
time of whole process trees, started in turns. `check` judges the same events from a file: the relay's share beyond that
is moving bytes. A tool that does any work of its own makes the ratio smaller.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench._figures import Row, cpu, print_rows, ratio, take_turns

EVENTS = 200_000
ROUNDS = 7
OPERABLE = str(Path(sys.executable).with_name("operable"))
BURST = f"""#!{sys.executable} -IS
import sys
write = sys.stdout.write
write('{{"type":"aoi:meta","tool":"burst","tool_version":"1.0.0","aoi_version":"0.2","command":"burst"}}\\n')
text = "A conforming tool exposes a stable machine mode that emits newline-delimited JSON, and a summary."
hit = '{{"type":"hit","rank":%d,"id":"doc_%07d","title":"Agent-Operable Tools, page %05d","snippet":"' + text + '"}}\\n'
for n in range({EVENTS}):
    write(hit % (n, n, n % 99991))
write('{{"type":"aoi:summary","ok":true,"count":{EVENTS}}}\\n')
"""


def main() -> int:
    """Print the table; 1 when a target is missed."""
    with tempfile.TemporaryDirectory() as folder:
        tool = os.path.join(folder, "burst")
        with open(tool, "w") as file:
            file.write(BURST)
        os.chmod(tool, 0o755)
        stream = os.path.join(folder, "burst.jsonl")
        with open(stream, "wb") as file:
            subprocess.run([tool], stdout=file, check=True)
        contestants: dict[str, Callable[[], float]] = {
            "tool": cpu([tool]),
            "run": cpu([OPERABLE, "run", "--output", "jsonl", "--", tool]),
            "pipe": cpu([OPERABLE, "pipe", "--exact", "--output", "jsonl", "--", tool, ":::", "cat"]),
            "check": cpu([OPERABLE, "check", "--output", "jsonl", stream]),
        }
        figures = take_turns(contestants, ROUNDS)
    own = [run - tool for run, tool in zip(figures["run"], figures["tool"], strict=True)]
    figures["relay"] = own
    per_event = min(own) / EVENTS * 1e6
    return print_rows(
        [
            Row("operable run -- TOOL, with the tool / TOOL alone", ratio(figures, "run", "tool")),
            Row(
                "operable run, without the tool / operable check",
                ratio(figures, "relay", "check"),
                2.5,
                f"{per_event:.1f} µs an event at best, start included",
            ),
            Row("operable pipe -- TOOL ::: cat / TOOL alone", ratio(figures, "pipe", "tool")),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
