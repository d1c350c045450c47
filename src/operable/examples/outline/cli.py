"""The `outline` command: who it is, and where its commands are (one file each in `commands/`).

A call imports the one command it needs, the events, and SQLite when it really opens the store: `outline search` takes about
one and a half times as long as starting Python and doing nothing. Keep it so: nothing here or on the way to a command
may import json, re, typing, dataclasses, pathlib or datetime.
"""

from operable.tool import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from operable.tool import Check

tool = Tool(
    "outline",
    version="1.8.2",
    schema_name="com.example.outline.events",
    schema_version="1.0.0",
    schema_id="https://schemas.example.com/outline/events/{version}/schema.json",
    summary="Notes you can search.",
    commands="operable.examples.outline.commands",
)


@tool.check("config_file")
def check_config_file() -> "Check":
    from operable.examples.outline.doctor import config_file

    return config_file()


@tool.check("api_token")
def check_api_token() -> "Check":
    from operable.examples.outline.doctor import api_token

    return api_token()


@tool.check("database")
def check_database() -> "Check":
    from operable.examples.outline.doctor import database

    return database()


@tool.check("full_text_search")
def check_full_text_search() -> "Check":
    from operable.examples.outline.doctor import full_text_search

    return full_text_search()


@tool.check("permissions")
def check_permissions() -> "Check":
    from operable.examples.outline.doctor import permissions

    return permissions()


main = tool.main
