"""The pages of the documentation, followed where Operable is installed from its wheel with the extra `all`.

`tests/test_docs.py` follows every page in the checkout. Here each run follows the pages of a newcomer, and one with `--live` all of
them: these are real starts, which take minutes.
"""

from pathlib import Path

import pytest

from tests.documentation import ROOT, run_page
from tests.package.environments import Environment, with_extra
from tests.test_docs import BLOCKS

FIRST = {
    "README.md",
    "docs/learn/install.md",
    "docs/learn/ten-minutes-with-a-tool.md",
    "docs/learn/ten-minutes-with-an-agent.md",
    "docs/learn/ten-minutes-as-an-operator.md",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "page" in metafunc.fixturenames:
        every = {str(path.relative_to(ROOT)) for path, page in BLOCKS.items() if page}
        metafunc.parametrize("page", sorted(every if metafunc.config.getoption("--live") else FIRST))


@pytest.fixture(scope="module")
def installed(base: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_extra(base, "all", tmp_path_factory.mktemp("all") / "environment").python


@pytest.mark.timeout(900)
def test_the_blocks_of_a_page_run_from_the_wheel(page, installed, tmp_path):
    run_page(BLOCKS[ROOT / page], tmp_path, installed)
