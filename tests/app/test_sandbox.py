"""The sandbox of an application: it writes its data and what it names, and reaches what it names."""

import pytest

from operable.app.invocation import call
from operable.app.sandbox import in_words
from operable.kernel.errors import Fail
from operable.proc.sandboxes import bubblewrap
from tests.app.making import approved, made, package_at

TRIES = """
import socket, pathlib
def tried(act):
    try:
        act()
    except OSError:
        return "no"
    return "yes"
say({
    "data": tried(lambda: pathlib.Path("app/state/x").write_text("x")),
    "code": tried(lambda: pathlib.Path("app/new.py").write_text("x")),
    "outside": tried(lambda: pathlib.Path(words[1]).write_text("x")),
    "network": tried(lambda: socket.create_connection(("127.0.0.1", int(words[2])), 2).close()),
    "stdin": sys.stdin.read(),
})
"""


@pytest.fixture
def port():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def tried(root, approvals, outside, port):
    answer = call(
        approved(root, approvals), ["list", str(outside / "y"), str(port)], approvals, stdin=b"hello"
    )
    assert answer.ok, answer
    return answer.value


@pytest.mark.needs("bwrap")
def test_it_writes_its_data_and_nothing_else_and_reaches_nothing(tmp_path, approvals, port):
    outside = tmp_path / "outside"
    outside.mkdir()
    root = made(tmp_path / "todo", TRIES, more="metadata: {operable: {sandbox: {}}}")

    found = tried(root, approvals, outside, port)

    assert found == {"data": "yes", "code": "no", "outside": "no", "network": "no", "stdin": "hello"}
    assert not (outside / "y").exists()
    assert (root / "app/state/x").read_text() == "x"


@pytest.mark.needs("bwrap")
def test_it_writes_the_folders_that_it_names(tmp_path, approvals, port):
    outside = tmp_path / "outside"
    outside.mkdir()
    root = made(tmp_path / "todo", TRIES, more=f"metadata: {{operable: {{sandbox: {{write: [{outside}]}}}}}}")

    assert tried(root, approvals, outside, port)["outside"] == "yes"


def test_without_one_it_has_the_rights_of_its_user_which_is_said(tmp_path, approvals, port):
    (tmp_path / "outside").mkdir()
    (tmp_path / "todo" / "app" / "state").mkdir(parents=True)
    root = made(tmp_path / "todo", TRIES)

    assert tried(root, approvals, tmp_path / "outside", port)["outside"] == "yes"
    assert in_words(package_at(root)) == ["all of yours"]


@pytest.mark.needs("bwrap")
def test_the_user_can_confine_every_application(tmp_path, approvals, port, monkeypatch):
    (tmp_path / "outside").mkdir()
    monkeypatch.setenv("OPERABLE_APP_SANDBOX", "1")
    root = made(tmp_path / "todo", TRIES)

    assert tried(root, approvals, tmp_path / "outside", port)["outside"] == "no"


@pytest.mark.parametrize(
    "sandbox", ["true", "{reads: []}", "{network: all}", "{write: [app]}", "{network: ['']}", "[network]"]
)
def test_a_sandbox_that_cannot_be_understood_is_refused(tmp_path, approvals, sandbox):
    root = made(tmp_path / "todo", more=f"metadata: {{operable: {{sandbox: {sandbox}}}}}")

    with pytest.raises(Fail) as caught:
        call(approved(root, approvals), ["list"], approvals)

    assert caught.value.code == "APP_SANDBOX_INVALID"


def test_where_it_cannot_be_enforced_nothing_runs(tmp_path, approvals, monkeypatch):
    root = made(
        tmp_path / "todo", 'open("app/state/ran", "w"); say({})', more="metadata: {operable: {sandbox: {}}}"
    )
    package = approved(root, approvals)
    monkeypatch.setenv("PATH", str(tmp_path))
    bubblewrap._missing.cache_clear()

    try:
        with pytest.raises(Fail) as caught:
            call(package, ["list"], approvals)
    finally:
        bubblewrap._missing.cache_clear()

    assert caught.value.code == "SANDBOX_UNAVAILABLE"
    assert not (root / "app/state/ran").exists()
