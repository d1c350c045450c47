"""The cost of writing an AOI stream: search hits against `rg --json` for the same hits, and memory over many events.

- hits: a tool on the SDK (`bench/_grep.py`) finds the lines with a word in a file and emits one `match` event for each,
  with path, line number, column, text and submatches; `rg --json` does the same. Every line is a hit, so that emitting is
  what is measured; where few are, ripgrep is out of reach, because looking at a line costs Python 0.2 µs. CPU of the
  whole processes, start included.
- memory: the resident size of a tool that emits 10 million events, after the first million and at the end.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench._figures import Row, cpu, print_rows, ratio, take_turns

NEEDS = ("rg",)
ROUNDS = 9
TOOL = [sys.executable, str(Path(__file__).with_name("_grep.py"))]


def main() -> int:
    """Print the table; 1 when a target is missed."""
    scale = 10 if "--quick" in sys.argv[1:] else 1
    lines = 400_000 // scale
    with tempfile.TemporaryDirectory() as directory:
        corpus = Path(directory, "notes.txt")
        with corpus.open("w") as file:
            for number in range(lines):
                file.write(
                    f"{number:07d} a note about operable tools, with lines as long as they usually are\n"
                )
        ours = [*TOOL, "match", "operable", str(corpus), "--output", "jsonl", "--limit", str(lines)]
        theirs = ["rg", "--no-config", "--json", "operable", str(corpus)]
        figures = take_turns({"ours": cpu(ours), "rg": cpu(theirs)}, ROUNDS)
    note = f"{lines} hits; rg {sorted(figures['rg'])[ROUNDS // 2]:.2f} s"
    rows = [Row("emit search hits, CPU x rg --json", ratio(figures, "ours", "rg"), 0.75, note)]
    rows.append(_memory(10_000_000 // scale))
    return print_rows(rows)


def _memory(events: int) -> Row:
    """Resident size at the end against the size after a tenth of the events."""
    argv = [
        *TOOL,
        "count",
        "--upto",
        str(events),
        "--output",
        "jsonl",
        "--limit",
        str(events),
        "--timeout",
        "3600",
    ]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE)
    assert process.stdout is not None
    early = late = read = 0
    while chunk := os.read(process.stdout.fileno(), 1 << 20):
        read += len(chunk)
        if not early and read > events * 5:  # an event has about 50 bytes
            early = _resident(process.pid)
        late = _resident(process.pid) or late
    process.stdout.close()
    if process.wait(60):
        raise subprocess.CalledProcessError(process.returncode, argv)
    return Row(
        f"memory of the emitter over {events:,} events", late / early, 1.1, f"{late // 1024} MiB at the end"
    )


def _resident(pid: int) -> int:
    """KiB; 0 once the process has ended."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    except ProcessLookupError:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
