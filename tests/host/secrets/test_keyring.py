import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail
from keyring.errors import KeyringLocked

from operable.host.secret_backend import backend
from operable.kernel.errors import Fail

KEYRING = backend("keyring")


class InMemory(KeyringBackend):
    """A keyring of the test's own; none of the machine's is touched."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service, username):
        return self.kept.get((service, username))

    def set_password(self, service, username, password):
        self.kept[service, username] = password

    def delete_password(self, service, username):
        del self.kept[service, username]


class Locked(InMemory):
    def get_password(self, service, username):
        raise KeyringLocked("the value is hunter2")


@pytest.fixture(autouse=True)
def _own_keyring():
    before = keyring.get_keyring()
    keyring.set_keyring(InMemory())
    yield
    keyring.set_keyring(before)


def test_a_secret_is_kept_and_found_by_its_slug():
    assert KEYRING.write is not None
    KEYRING.write(KEYRING.locate("team/gh-token"), "value")

    assert KEYRING.missing() is None
    assert KEYRING.read("operable/team/gh-token") == "value"
    assert keyring.get_password("operable/team", "gh-token") == "value"
    assert KEYRING.read("operable/absent") is None


def test_a_session_without_a_keyring_is_told():
    keyring.set_keyring(fail.Keyring())

    assert KEYRING.missing() == "this session has no keyring"


def test_a_locked_keyring_is_a_failure_that_quotes_nothing():
    keyring.set_keyring(Locked())

    with pytest.raises(Fail) as caught:
        KEYRING.read("operable/x")
    assert (caught.value.code, "hunter2" in caught.value.message) == ("SECRET_BACKEND_FAILED", False)
