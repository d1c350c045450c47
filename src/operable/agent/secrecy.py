"""What the agent keeps from its tools, its model and its journals: its keys, and every other secret that it was given.

The process takes its environment once (`take_environment`): the values of secrets stay in memory, and are gone from
`os.environ`, from /proc/PID/environ and from /proc/PID/cmdline; no other user may read the memory. What tools print is
masked by value before a model or a journal has it (`known_secrets`).
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from io import FileIO
from typing import Any

from operable.kernel.redact import Known, is_secret_name, redact_text
from operable.kernel.redact.credentials import read_credentials
from operable.proc.environment import secret_values

# Where the SDKs of providers look by themselves for a login: below the home, or below the folder of a variable.
_LOGINS = (
    ("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials", ""),
    ("CLOUDSDK_CONFIG", ".config/gcloud", "application_default_credentials.json"),
)
# The SDK of AWS reads these by itself, and is given nothing else where a container has a role.
_READ_BY_SDK = ("AWS_CONTAINER_", "AWS_WEB_IDENTITY_")


_SET_DUMPABLE = 4
# Of /proc/self/stat, behind the name of the program: arg_start, arg_end, env_start, env_end (proc(5), fields 48 to 51).
_BLOCKS = slice(45, 49)
_LARGEST = 16 * 1024 * 1024  # of words and variables: the kernel allows 6 MiB


def take_environment(argv: Sequence[str]) -> dict[str, str]:
    """The environment with everything in it; the process's own no longer has its secrets."""
    environment = dict(os.environ)
    secrets = set(secret_values(environment))
    for name, value in environment.items():
        if value in secrets and not name.startswith(_READ_BY_SDK):
            del os.environ[name]
    secrets |= {value for value in _keys(argv) if value}
    if secrets:
        hide_memory()
        scrub(secrets)
    return environment


def known_secrets(options: Mapping[str, Any], environment: Mapping[str, str]) -> Known:
    """What must not come back in results, journals and errors."""
    known = Known(secret_values(environment))
    if key := options.get("api_key"):
        known.add(key)
    for variable, usual, name in _LOGINS:
        place = environment.get(variable) or os.path.join(environment.get("HOME", ""), usual)
        known.add(*read_credentials(os.path.join(place, name) if name else place))
    return known


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """What of the environment tools may see: everything but what is, or looks like, a secret."""
    return {
        name: value
        for name, value in environment.items()
        if not is_secret_name(name) and redact_text(value) == value
    }


def _keys(argv: Sequence[str]) -> list[str]:
    """The values of --api-key, also of one that is refused later."""
    found: list[str] = []
    for index, word in enumerate(argv):
        if word in ("--api-key", "-k") and index + 1 < len(argv):
            found.append(argv[index + 1])
        elif word.startswith("--api-key="):
            found.append(word.partition("=")[2])
    return found


# What a process with secrets hides of itself: its memory, and the words and variables that it was started with.
#
# `hide_memory` makes the process undumpable (PR_SET_DUMPABLE): processes of the same user can no longer read its
# memory, its environment or its descriptors, and it leaves no core file. Root still can. `scrub` therefore overwrites
# values in place, in the block that the kernel shows as /proc/PID/environ and /proc/PID/cmdline; it writes to its own
# memory through /proc/self/mem, without a new process. Between the start of the process and this call the values are
# there to be seen.
#
# Best effort, as every answer says: without /proc, or on another system, nothing is hidden and False is returned.


def hide_memory() -> bool:
    """Other processes of the user cannot look into this one from now on; whether that was done."""
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError, TypeError):
        return False


def scrub(values: Iterable[str]) -> bool:
    """Overwrite these values among the words and variables that the process was started with."""
    sought = [os.fsencode(value) for value in values if value]
    if not sought:
        return True
    try:
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        arguments, arguments_end, variables, variables_end = map(int, fields[_BLOCKS])
        with open("/proc/self/mem", "r+b", buffering=0) as memory:
            for start, end in ((arguments, arguments_end), (variables, variables_end)):
                _overwrite(memory, start, end, sought)
    except (OSError, ValueError):
        return False
    return True


def _overwrite(memory: FileIO, start: int, end: int, sought: list[bytes]) -> None:
    if not 0 < end - start <= _LARGEST:
        return
    memory.seek(start)
    block = memory.read(end - start)
    for value in sought:
        at = block.find(value)
        while at >= 0:
            memory.seek(start + at)
            memory.write(b"x" * len(value))
            at = block.find(value, at + len(value))
