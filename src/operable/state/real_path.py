"""Opening what a real path names, without following a link that another process puts there meanwhile.

A real path has no links in it. It is walked part by part, each opened in the folder before and never followed, so what is
opened is what was judged. The descriptor gives no right to read: it names a file or folder, for a mount or for a comparison.

Imports only what is loaded anyway: every start of an enclosed command comes here.
"""

import errno
import os
import stat

_NAME = getattr(os, "O_PATH", 0) | os.O_NOFOLLOW | os.O_CLOEXEC


def open_place(real: str) -> int:
    """A descriptor of the file or folder; the caller closes it. Raises OSError with ELOOP if a part is a link by now."""
    current = os.open("/", _NAME)
    try:
        for part in real.split("/"):
            if part:
                following = os.open(part, _NAME, dir_fd=current)
                os.close(current)
                current = following
                if stat.S_ISLNK(os.fstat(current).st_mode):
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), real)
    except BaseException:
        os.close(current)
        raise
    return current
