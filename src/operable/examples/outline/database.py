"""The database file: where it is, and how it is read. `transaction` writes, `failures` says what an error means.

Readers open it read-only and never create anything: a store that is not there is an empty store.
"""

import os
import sys

from operable.tool import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlite3 import Connection
    from types import ModuleType, TracebackType

SCHEMA = 2  # the number of steps in migrations.py, which readers need not import


def home() -> str:
    """`$OUTLINE_HOME`, else `$XDG_DATA_HOME/outline`, else `~/.local/share/outline`."""
    environment = os.environ
    path = environment.get("OUTLINE_HOME")
    if path:
        return os.path.abspath(path)
    data = environment.get("XDG_DATA_HOME", "")
    if not os.path.isabs(data):  # relative ones are to be ignored, says the XDG specification
        data = os.path.join(environment.get("HOME", ""), ".local", "share")
    if not os.path.isabs(data):
        raise Fail(
            "config", "NO_HOME", "There is no place for notes: HOME is not set", hint="set OUTLINE_HOME"
        )
    return os.path.join(data, "outline")


def path() -> str:
    return os.path.join(home(), "outline.sqlite")


class Reading:
    """`with Reading() as connection:` a read-only connection, or None where there is no store yet."""

    def __enter__(self) -> "Connection | None":
        self._connection: Connection | None = None
        place = path()
        if not os.path.exists(place):
            return None
        try:
            self._connection = connection = _connect_to_read(place)
            (schema,) = connection.execute("PRAGMA user_version").fetchone()
            if schema == SCHEMA:
                return connection
        except sqlite_error() as error:
            from operable.examples.outline.failures import explained

            self.__exit__(None, None, None)
            raise explained(error) from error
        self.__exit__(None, None, None)
        return self._older(schema)

    def _older(self, schema: int) -> "Connection | None":
        if schema == 0:
            return None  # another process is making it right now
        from operable.examples.outline.transaction import Writing

        with Writing():
            pass  # migrates, or refuses a store of a newer outline
        return self.__enter__()

    def __exit__(
        self, kind: "type[BaseException] | None", error: "BaseException | None", trace: "TracebackType | None"
    ) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if error is not None and isinstance(error, sqlite_error()):
            from operable.examples.outline.failures import explained

            raise explained(error) from error


def narrowed(folder: "str | None" = None, tag: "str | None" = None) -> "tuple[str, tuple[str, ...]]":
    """The part of a query that keeps notes in and below a folder, and notes with a tag; with its values."""
    where = ""
    values: tuple[str, ...] = ()
    if folder:  # everything is in or below the top
        # "0" is the character after "/": the range is everything below the folder.
        where, values = (
            " AND (folder = ? OR (folder > ? AND folder < ?))",
            (folder, f"{folder}/", f"{folder}0"),
        )
    if tag is not None:
        where, values = f"{where} AND instr(char(10) || notes.tags || char(10), ?)", (*values, f"\n{tag}\n")
    return where, values


def tag_list(tags: str) -> "list[str]":
    """Tags are stored one a line."""
    return tags.split("\n") if tags else []


def _module() -> "ModuleType":
    """`_sqlite3`, the C module behind `sqlite3`, at the price of the library alone.

    It takes one function of `functools`, whose import (with `collections`, `reprlib`…) costs more than loading and opening
    SQLite. The same function is in C already, so a module with only that function replaces it during the import.
    """
    known = sys.modules
    if "_sqlite3" in known:
        return known["_sqlite3"]
    try:
        if "functools" in known:
            return __import__("_sqlite3")
        wrapper = __import__("_functools")._lru_cache_wrapper  # noqa: SLF001
        known["functools"] = stand_in = type(sys)("functools")
        stand_in.__dict__["lru_cache"] = lambda size: lambda function: wrapper(function, size, False, tuple)
        try:
            return __import__("_sqlite3")
        finally:
            del known["functools"]
    except (ImportError, AttributeError):  # another Python implementation, or one that changed inside
        return __import__("sqlite3")


def sqlite_error() -> "type[Exception]":
    error: type[Exception] = _module().Error
    return error


def connect(place: str, *, timeout: float, uri: bool = False) -> "Connection":
    # No isolation level: transactions are ours to begin, not to be guessed by the module.
    connection: Connection = _module().connect(place, uri=uri, timeout=timeout, isolation_level=None)
    return connection


def _connect_to_read(place: str) -> "Connection":
    # A WAL database wants to write its index even for a reader. Where that is impossible and no log is left over, no
    # other process can be writing either, and the file can be read as it is.
    still = not os.access(os.path.dirname(place), os.W_OK) and not os.path.exists(f"{place}-wal")
    uri = f"file:{_quoted(place)}?mode=ro{'&immutable=1' if still else ''}"
    return connect(uri, uri=True, timeout=5.0)


def _quoted(place: str) -> str:
    return "".join(
        chr(byte) if 45 <= byte < 127 and byte != 63 else f"%{byte:02x}" for byte in os.fsencode(place)
    )
