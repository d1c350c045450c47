import pytest

from tests.serve.daemon import serving
from tests.serve.world import World


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    """One daemon for the tests of a file."""
    with serving(tmp_path_factory.mktemp("home")) as started:
        yield started
