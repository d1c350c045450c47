"""The numbers of system calls: none twice, and those of the kernel's headers where this machine has them."""

import re
from pathlib import Path

import pytest

from operable.proc.sandbox.syscalls import _EVERYWHERE, _NUMBERS, numbers

# Calls of architectures that are younger than the old names have the numbers of `asm-generic`.
HEADERS = {
    "x86_64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
    "aarch64": "/usr/include/asm-generic/unistd.h",
}
NAMES = [*_NUMBERS, *_EVERYWHERE]


@pytest.mark.parametrize("machine", HEADERS)
def test_no_two_calls_have_the_same_number(machine):
    found = numbers(machine, NAMES)

    assert len(found) == len(set(found))


@pytest.mark.parametrize("machine, path", HEADERS.items())
def test_the_numbers_are_those_of_the_kernel(machine, path):
    text = Path(path).read_text() if Path(path).exists() else ""
    known = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)}

    for name in known.keys() & set(NAMES):
        assert numbers(machine, [name]) in ([known[name]], []), name
