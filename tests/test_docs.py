"""Every shell and Python block of README and docs does what the page says (tests/documentation.py has the rules).

The pages are followed where Operable is installed from the wheel of this tree (`tests/package/test_pages.py`), since that is what
readers have. Here each run follows what is not in the wheel, and one with `--live` all of them once more, in the checkout.
"""

import itertools
import re
from pathlib import Path

import pytest

from tests.documentation import ROOT, Block, Failure, blocks, matches, mistakes, run_page

# Of the examples, the pages that come with them: not what their builds or packages bring along.
EXAMPLES = [*(ROOT / "examples").glob("*.md"), *(ROOT / "examples").glob("*/*.md")]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(EXAMPLES)]
# They run files of the repository.
OF_THE_CHECKOUT = {ROOT / "examples" / "reference" / "README.md"}
BLOCKS = {path: list(blocks(path.read_text("utf-8"))) for path in PAGES}
NOT_RUN = [
    pytest.param(block.reason, id=f"{path.relative_to(ROOT)}:{block.line}")
    for path, page in BLOCKS.items()
    for block in page
    if block.reason is not None
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "followed" in metafunc.fixturenames:
        every = {path for path, page in BLOCKS.items() if page}
        chosen = every if metafunc.config.getoption("--live") else OF_THE_CHECKOUT
        metafunc.parametrize("followed", sorted(chosen), ids=name)


def name(value: object) -> str | None:
    return str(value.relative_to(ROOT)) if isinstance(value, Path) else None


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_every_block_says_what_it_is(path):
    assert mistakes(BLOCKS[path]) == []


# A page is a sequence of examples, each with a limit of its own.
@pytest.mark.timeout(600)
def test_the_blocks_of_a_page_run(followed, tmp_path):
    run_page(BLOCKS[followed], tmp_path)


if NOT_RUN:

    @pytest.mark.parametrize("reason", NOT_RUN)
    def test_a_block_that_only_shows(reason):
        pytest.skip(f"shown in the documentation, not run: {reason}")


def test_every_relative_link_leads_somewhere():
    broken = [
        f"{path.relative_to(ROOT)}: {target}"
        for path in PAGES
        for target in re.findall(r"\]\((?!\w+:|#)([^)#\s]+)", path.read_text("utf-8"))
        if not (path.parent / target).exists()
    ]

    assert broken == []


def page(text: str) -> list[Block]:
    return list(blocks(text))


def test_blocks_of_one_page_share_a_directory_and_run_in_order(tmp_path):
    text = (
        "```python file=hello.py\nprint('hello')\n```\n"
        "```sh\npython hello.py > out.txt\n```\n"
        "1. indented\n\n   ```console\n   $ cat out.txt\n   hello\n   ```\n"
        "```python\nassert open('out.txt').read() == 'hello\\n'\n```\n"
    )
    assert mistakes(page(text)) == []

    run_page(page(text), tmp_path)

    assert (tmp_path / "work" / "out.txt").exists()


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("```sh\nfalse\ntrue\n```\n", "exit status 1, not 0"),
        ("```sh\nfalse | true\n```\n", "exit status 1, not 0"),
        ("```python\nraise SystemExit(3)\n```\n", "exit status 3, not 0"),
        ("```console\n$ echo a\nb\n```\n", "expected"),
        ("```console\n$ true  # exit 64\n```\n", "exit status 0, not 64"),
        ("```console\n$ echo unexpected\n```\n", "expected"),
        ("```sh\n./dev nonsense\n```\n", "there is no `./dev nonsense`"),
    ],
)
def test_a_page_that_lies_fails(text, complaint, tmp_path):
    with pytest.raises(Failure, match=complaint):
        run_page(page(text), tmp_path)


def test_a_console_block_may_show_a_failure_and_a_continued_command(tmp_path):
    text = "```console\n$ sh -c 'echo no; exit 64'  # exit 64\nno\n$ echo one \\\n> two\none two\n```\n"

    run_page(page(text), tmp_path)


def test_dev_commands_are_checked_and_not_run(tmp_path):
    run_page(
        page("```sh\n./dev demo\n./dev test\n```\n```console\n$ ./dev check\nall is well\n```\n"), tmp_path
    )


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("```\nx\n```\n", "the fence says ''"),
        ("```shell\nx\n```\n", "the fence says 'shell'"),
        ("```sh norun\nx\n```\n", "norun needs reason"),
        ("```toml file=a.toml\nx = 1\n```\n", "no later block uses a.toml"),
    ],
)
def test_a_block_that_hides_what_it_is_is_a_mistake(text, complaint):
    assert complaint in mistakes(page(text))[0]


def test_a_block_that_is_not_run_keeps_its_reason():
    assert page('```sh norun reason="needs a network"\ncurl x\n```\n')[0].reason == "needs a network"


@pytest.mark.parametrize("lines", list(itertools.permutations(["a", "b", "..."])))
def test_an_ellipsis_line_stands_for_any_lines_and_no_others(lines):
    expected = "\n".join(lines)

    assert matches(expected, expected.replace("...", "x\ny"))
    assert matches(expected, expected.replace("...\n", "").replace("\n...", ""))
    assert not matches(expected, expected.replace("a", "A"))


def test_an_ellipsis_in_a_line_stands_for_any_text_in_it():
    assert matches('{"a":...}', '{"a":1}\n')
    assert not matches('{"a":...}', '{"a":1}\n{"b":2}\n')
