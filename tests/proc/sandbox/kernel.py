"""What this kernel has, asked without the code under test: a guard that wrongly says "missing" must fail, not skip."""

import ctypes
import os
import platform

import pytest

_CREATE_RULESET, _VERSION = 444, 1
# The first versions of Landlock that know truncating, and scopes.
TRUNCATING, SCOPING = 3, 6


def _landlock() -> int:
    if platform.system() != "Linux":
        return 0
    libc = ctypes.CDLL(None)
    libc.syscall.restype = ctypes.c_long
    found: int = libc.syscall(_CREATE_RULESET, None, 0, _VERSION)
    return found


LANDLOCK = _landlock()
HAS_FILTERS = platform.system() == "Linux" and os.uname().machine in ("x86_64", "aarch64")
needs_filters = pytest.mark.skipif(not HAS_FILTERS, reason="no system call filter for this machine")
needs_truncating = pytest.mark.skipif(
    not HAS_FILTERS or LANDLOCK < TRUNCATING, reason="this kernel has no Landlock that knows truncating"
)
needs_scopes = pytest.mark.skipif(
    not HAS_FILTERS or LANDLOCK < SCOPING, reason="this kernel has no Landlock that knows scopes"
)
