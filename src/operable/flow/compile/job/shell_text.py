"""A command as one line for `sh`: everything quoted, nothing left for the shell to interpret."""

from operable.flow.manifest.inheritance import Json


def quote(word: str) -> str:
    """In single quotes; a single quote inside is closed, quoted with double quotes, and opened again."""
    return "'" + word.replace("'", "'\"'\"'") + "'"


def shell_line(payload: Json) -> str:
    """The line for a normalised shell payload."""
    line = " ".join(map(quote, [payload["program"], *payload["args"]]))
    if payload["env"]:
        line = (
            " ".join(f"{name}={quote(value)}" for name, value in sorted(payload["env"].items())) + " " + line
        )
    if payload["stdin"] is not None:
        line = f"printf %s {quote(payload['stdin'])} | {line}"
    return in_folder(payload["cwd"], line)


def in_folder(cwd: str | None, line: str) -> str:
    return line if cwd is None else f"cd {quote(cwd)} && {line}"
