"""The `operable` command, written on the SDK it ships: every verb is one file in `commands/` and speaks AOI itself."""

from operable.tool import Tool

VERSION = "0.1.0"

tool = Tool(
    "operable",
    version=VERSION,
    schema_name="org.operable.events",
    schema_version="1.0.0",
    summary="One contract between agents and command lines.",
    commands="operable.cli.commands",
)


def main() -> None:
    """Entry point of the console script."""
    tool.main()
