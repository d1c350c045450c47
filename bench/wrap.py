"""What wrapping costs: a large directory through `operable wrap ls`, and matches through `operable wrap rg`.

References in the same round: `jc ls -l` for the directory, and for rg the least that any consumer of `rg --json` can do, a
loop that decodes each line. Flat memory is the ratio of the peaks for 100,000 and for 10,000 files.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench._figures import Row, print_rows, ratio, take_turns

NEEDS = ("rg",)
BIN = Path(sys.executable).parent
ROUNDS = 3
FILES, FEW_FILES = 100_000, 10_000
LINES = 300_000
_BARE = "import json, sys\nfor line in sys.stdin.buffer: json.loads(line)"
_TYPED = "import msgspec, sys\nd = msgspec.json.Decoder().decode\nfor line in sys.stdin.buffer: d(line)"


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        many, few = _directory(folder / "many", FILES), _directory(folder / "few", FEW_FILES)
        text = folder / "text"
        text.mkdir()
        for part in range(10):
            lines = (f"line {number} has a needle and some more words\n" for number in range(LINES // 10))
            (text / f"part-{part}.txt").write_text("".join(lines))
        return print_rows([*_listing(many, few), *_searching(text)])


def _directory(path: Path, count: int) -> Path:
    path.mkdir()
    for number in range(count):
        os.close(os.open(path / f"file-{number:06d}.txt", os.O_CREAT | os.O_WRONLY))
    return path


def _ls(path: Path, *words: str) -> list[str]:
    return [str(BIN / "operable"), "wrap", "ls", str(path), "--limit", "1000000", "--output", "jsonl", *words]


def _listing(many: Path, few: Path) -> list[Row]:
    figures = take_turns(
        {
            "jc": _wall([str(BIN / "jc"), "ls", "-l", str(many)]),
            "sorted": _wall(_ls(many)),
            "unsorted": _wall(_ls(many, "--unsorted")),
        },
        ROUNDS,
    )
    large, small = _peak(_ls(many, "--unsorted")), _peak(_ls(few, "--unsorted"))
    page_large, page_small = _peak(_ls(many)[:4]), _peak(_ls(few)[:4])
    return [
        Row("wrap ls of 100,000 files / jc ls -l", ratio(figures, "sorted", "jc"), 0.5),
        Row("the same, unsorted", ratio(figures, "unsorted", "jc"), 0.5),
        Row("peak memory, 100,000 / 10,000 files, unsorted", large / small, 1.1, f"{large // 1024} MiB"),
        Row(
            "peak memory of one page of 100, sorted",
            page_large / page_small,
            1.1,
            f"{page_large // 1024} MiB",
        ),
    ]


def _searching(text: Path) -> list[Row]:
    rg = ["rg", "--json", "--no-config", "--regexp=needle", "--", str(text)]
    wrapped = [
        str(BIN / "operable"),
        "wrap",
        "rg",
        "needle",
        str(text),
        "--limit",
        "10000000",
        "--output",
        "jsonl",
    ]
    figures = take_turns(
        {
            "bare": _piped(rg, [sys.executable, "-c", _BARE]),
            "typed": _piped(rg, [sys.executable, "-c", _TYPED]),
            "wrap": _wall(wrapped),
        },
        ROUNDS,
    )
    # 60 % of the speed is 1 / 0.6 of the time.
    return [
        Row("wrap rg / rg --json into a json.loads loop", ratio(figures, "wrap", "bare"), 1 / 0.6),
        # 75 % of the speed.
        Row("wrap rg / rg --json into a msgspec loop", ratio(figures, "wrap", "typed"), 1 / 0.75),
    ]


def _wall(argv: Sequence[str]) -> Callable[[], float]:
    """Seconds until a process that writes to a pipe, which we drain, has ended."""

    def run() -> float:
        before = time.perf_counter()
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        _drain(process)
        return time.perf_counter() - before

    return run


def _piped(source: Sequence[str], consumer: Sequence[str]) -> Callable[[], float]:
    def run() -> float:
        before = time.perf_counter()
        first = subprocess.Popen(source, stdout=subprocess.PIPE)
        second = subprocess.Popen(consumer, stdin=first.stdout)
        if first.stdout is not None:
            first.stdout.close()
        second.wait()
        first.wait()
        return time.perf_counter() - before

    return run


def _drain(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    while os.read(process.stdout.fileno(), 1 << 20):
        pass
    process.stdout.close()
    if process.wait():
        raise subprocess.CalledProcessError(process.returncode, process.args)


def _peak(argv: Sequence[str]) -> int:
    """The peak of resident memory of one run, in KiB."""
    process = subprocess.Popen(
        [*argv, "--output=jsonl"] if "--output" not in argv else argv, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    while os.read(process.stdout.fileno(), 1 << 20):
        pass
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss


if __name__ == "__main__":
    sys.exit(main())
