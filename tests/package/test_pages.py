"""The pages of the documentation, followed where Operable is installed from its wheel with the extra `all`.

These are real starts of what a user has. The checkout adds nothing to them: `tests/test_docs.py` follows there only what runs files
of the repository, unless it is asked with `--live`.
"""

from pathlib import Path

import pytest

from tests.documentation import ROOT, run_page
from tests.package.environments import Environment, with_extra
from tests.test_docs import BLOCKS, OF_THE_CHECKOUT

PAGES = {
    str(path.relative_to(ROOT)): page for path, page in BLOCKS.items() if page and path not in OF_THE_CHECKOUT
}
# What a page takes for granted beside Operable: the tools with which its reader tests, builds and had written a program before.
READERS = ("pip", "hatchling", "pytest", "typer")


@pytest.fixture(scope="module")
def installed(base: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("all") / "environment"
    return with_extra(base, "all", folder, beside=READERS).python


@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", sorted(PAGES))
def test_the_blocks_of_a_page_run_from_the_wheel(page, installed, tmp_path):
    run_page(PAGES[page], tmp_path, installed)
