"""The bytecode of the test modules, with the asserts that pytest writes into it, made once by all workers together.

In a clean clone each worker would make all of it for itself, which is half of what collecting costs, because all of them
collect the same modules in the same order. So each makes a share first, then collects what all have made. A module that is
not there yet is made by whoever needs it: nobody waits for anybody.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.assertion import rewrite


def write_share(config: pytest.Config, number: int, count: int) -> None:
    """Make every `count`-th module of what is run, from `number` on, where it is not there yet."""
    if sys.dont_write_bytecode:
        return
    for path in sorted(set(_modules(config)))[number::count]:
        folder = rewrite.get_cache_dir(path)
        place = folder / (path.stem + rewrite.PYC_TAIL)
        if not rewrite.try_makedirs(folder) or rewrite._read_pyc(path, place) is not None:
            continue
        digest, code = rewrite._rewrite_test(path, config)
        rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, digest, place)


def _modules(config: pytest.Config) -> Iterator[Path]:
    for argument in config.args:
        path = config.invocation_params.dir / argument.partition("::")[0]
        if path.is_dir():
            yield from path.rglob("test_*.py")
        elif path.suffix == ".py":
            yield path
