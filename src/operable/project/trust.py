"""Whether the user has approved what a project's configuration asks for, exactly as it is now.

An approval is bound to a digest over `operable.toml`, `.mcp.json`, and the files of the project that the commands of hooks
and servers name: a changed script is another hook. What such a script reads or starts in turn is not covered.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping
from typing import Literal

from operable.kernel.errors import Fail
from operable.project import places
from operable.state.consent import ConsentFile, compare

_SCRIPT_LIMIT = 16 * 1024 * 1024


def consents() -> ConsentFile:
    return ConsentFile("projects", "approvals.json")


def digest(folder: str, words: Iterable[str], read: Mapping[str, bytes | None]) -> str:
    """Of what the project asks for; `words` are those of the commands that it names.

    `read` has the files that were read to know that: what counts is what was read, whatever they contain by now.
    """
    whole = hashlib.sha256()
    named = [name for word in words if (name := _below(folder, word)) is not None]
    for name in sorted({*read, *named}):
        try:
            # A script is what a link leads to, also out of the project: that is what runs.
            data = (
                read[name] if name in read else places.read(os.path.join(folder, name), limit=_SCRIPT_LIMIT)
            )
        except (OSError, ValueError) as error:
            message = f"{name} cannot be approved: {error}"
            raise Fail("config", "SETTINGS_INVALID", message, target=os.path.join(folder, name)) from error
        content = "-" if data is None else hashlib.sha256(data).hexdigest()
        whole.update(f"{name}\0{content}\0".encode("utf-8", "surrogateescape"))
    return f"sha256:{whole.hexdigest()}"


def standing(folder: str, current: str) -> Literal["approved", "never approved", "changed"]:
    """What the user's approval of this project is worth for what is there now."""
    kept = consents().read().get(os.path.realpath(folder), {}).get("digest")
    return compare(kept if isinstance(kept, str) else None, current)


def _below(folder: str, word: str) -> str | None:
    """The name of the file of the project that a word is; None: it is not one."""
    path = os.path.normpath(os.path.join(folder, word))
    try:
        is_file = path.startswith(folder.rstrip("/") + "/") and os.path.isfile(path)
    except ValueError:  # a NUL
        return None
    return os.path.relpath(path, folder) if is_file else None
