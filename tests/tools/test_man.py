"""docs/man: manual pages that troff reads as they are meant."""

import subprocess

import pytest

from operable.cli import tool as operable
from operable.tool import Tool
from tools.pages.man import manual, render


@pytest.mark.needs("groff")
@pytest.mark.parametrize("name", ["operable.1", "aoi-lint.1", "outline.1"])
def test_troff_has_nothing_to_warn_of_and_shows_every_command(name):
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-P-cbou", "-rLL=80n"],
        input=render()[name], capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip

    assert done.stderr == ""
    program = name.removesuffix(".1")
    if program == operable.name:
        headings = [line.strip() for line in done.stdout.splitlines()]
        assert [each for each in operable.names() if f"{program} {each}" not in headings] == []


def test_a_text_cannot_give_orders_to_troff():
    tool = Tool("t", version="1", schema_name="x", summary="A tool.")

    @tool.command()
    def show() -> None:
        r"""Show it.

        .so /etc/passwd
        'br and \fBbold\fR with --option
        """

    lines = manual(tool).splitlines()

    assert "\\&.so /etc/passwd" in lines
    assert "\\&'br and \\efBbold\\efR with \\-\\-option" in lines
