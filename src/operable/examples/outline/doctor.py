"""What `outline doctor` looks at.

`outline` keeps notes on this machine and calls no other service. A configuration file may name a `remote`, for whatever
program synchronises the store; then `OUTLINE_API_TOKEN` has to be there for it, and its absence is an error. Without a
remote no token is needed, so that a fresh installation is healthy.
"""

import os

from operable.examples.outline.database import SCHEMA, Reading, home, path
from operable.tool import Check, Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def config_path() -> str:
    """`$OUTLINE_HOME/config.toml`, else `$XDG_CONFIG_HOME/outline/config.toml`, else `~/.config/outline/config.toml`."""
    environment = os.environ
    if environment.get("OUTLINE_HOME"):
        return os.path.join(home(), "config.toml")
    config = environment.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(config):
        config = os.path.join(environment.get("HOME", "/"), ".config")
    return os.path.join(config, "outline", "config.toml")


def configuration() -> "dict[str, Any] | None":
    """What the configuration file says; Returns None if it does not exist."""
    import tomllib

    try:
        with open(config_path(), "rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        return None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise Fail(
            "config", "CONFIG_INVALID", f"not valid TOML: {problem}", hint=f"fix {config_path()}"
        ) from problem


def config_file() -> "Check":
    return Check(ok=True, detail="found" if configuration() is not None else "none, which is fine")


def api_token() -> "Check":
    try:
        remote = (configuration() or {}).get("remote")
    except Fail:
        return Check(ok=False, severity="warning", detail="unknown: the configuration cannot be read")
    if os.environ.get("OUTLINE_API_TOKEN"):
        return Check(ok=True, detail="found")
    if remote is None:
        return Check(ok=True, detail="not needed: no remote is configured")
    return Check(
        ok=False, detail="missing", hint="set OUTLINE_API_TOKEN, or remove `remote` from the configuration"
    )


def database() -> "Check":
    with Reading() as connection:
        if connection is None:
            return Check(ok=True, detail="none yet; the first note makes it")
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        (notes,) = connection.execute("SELECT count(*) FROM notes").fetchone()
    if verdict != "ok":
        return Check(
            ok=False, detail=f"damaged: {verdict}", hint="outline export what can be read; restore a backup"
        )
    return Check(ok=True, detail=f"{notes} notes, schema {SCHEMA}")


def full_text_search() -> "Check":
    import sqlite3

    memory = sqlite3.connect(":memory:")
    try:
        memory.execute("CREATE VIRTUAL TABLE probe USING fts5 (text)")
    except sqlite3.Error as problem:
        return Check(ok=False, detail=f"SQLite {sqlite3.sqlite_version} has no FTS5: {problem}")
    finally:
        memory.close()
    return Check(ok=True, detail=f"SQLite {sqlite3.sqlite_version} with FTS5")


def permissions() -> "Check":
    """Notes are private: no other user may read the directory or the file."""
    directory = home()
    if not os.path.exists(directory):
        return Check(ok=True, detail="nothing to protect yet")
    if not os.access(directory, os.W_OK | os.X_OK):
        return Check(
            ok=False, severity="warning", detail="the directory is read-only: notes can be read, not changed"
        )
    for place in (directory, path()):
        if os.path.exists(place) and os.stat(place).st_mode & 0o077:
            return Check(
                ok=False,
                severity="warning",
                detail=f"others can look into {place}",
                hint=f"chmod go= {place}",
            )
    return Check(ok=True, detail="private")
