"""Replacing a file in one step: readers see the old content or the new one, and a full disk leaves the old one."""

import os
import tempfile


def replace_file(path: str, data: bytes) -> None:
    """Write beside the file and rename; keeps the mode of a file that was there, makes missing folders."""
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    try:
        mode = os.stat(path).st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        mode = 0o666 & ~mask
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".operable-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
