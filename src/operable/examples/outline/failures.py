"""What an error of SQLite means to the caller."""

from operable.examples.outline.database import path
from operable.tool import Fail

BUSY, LOCKED, _READONLY, _IO, _CORRUPT, _FULL, _CANNOT_OPEN, _NO_DATABASE = 5, 6, 8, 10, 11, 13, 14, 26


def primary_code(error: "BaseException") -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def explained(error: "BaseException") -> "Fail":
    """What an error of SQLite means to the caller."""
    code, place = primary_code(error), path()
    if code in (BUSY, LOCKED):
        return Fail(
            "temporary",
            "STORE_BUSY",
            "Another process is writing to the store",
            target=place,
            hint="try again",
        )
    if code == _FULL:
        return Fail("io", "DISK_FULL", "The disk is full; nothing was changed", target=place)
    if code in (_CORRUPT, _NO_DATABASE):
        return Fail(
            "io", "STORE_DAMAGED", f"The store cannot be read: {error}", target=place, hint="outline doctor"
        )
    if code in (_READONLY, _CANNOT_OPEN):
        return Fail(
            "io", "STORE_NOT_WRITABLE" if code == _READONLY else "STORE_UNREADABLE", str(error), target=place
        )
    if code == _IO:
        return Fail("io", "STORE_IO_ERROR", f"The store cannot be read or written: {error}", target=place)
    return Fail("internal", "STORE_ERROR", f"Unexpected error of the database: {error}", target=place)
