import os
import threading
import urllib.request

import pytest

from operable.kernel.errors import Fail
from operable.manifest.blocks import Auth, AuthState, CompletesWhen, Expiry, Login, Refresh
from operable.proc.terminal import Terminal
from tests.host.launch.making import Somebody, agent, launch, program
from tests.requirement import requirement

DONE = CompletesWhen(cmd="agent auth status")


class Clock:
    now = 1_000_000.0

    def __call__(self):
        return self.now


def auth(tmp_path, block, **fields):
    binary = tmp_path / "bin" / "agent"
    if not binary.exists():
        # `agent login` logs in, `agent auth status` says whether, `agent refresh` fails when there is a file `broken`
        program(
            binary,
            "case $1 in login) touch logged-in;; auth) test -f logged-in;; refresh) echo x >> refreshed; test ! -f broken;; esac",
        )
    return launch(tmp_path, agent(auth=block), tmp_path / "bin", **fields).authentication(str(binary))


def required(work):
    with pytest.raises(Fail) as caught:
        work.require()
    assert (caught.value.category, caught.value.code, caught.value.details["aip_code"]) == (
        "authn",
        "AUTH_REQUIRED",
        "auth_required",
    )
    return caught.value


def state(work):
    return work.ledger.login(work.scope).state


def test_a_manifest_without_auth_needs_no_login(tmp_path):
    auth(tmp_path, None).require()


def test_a_manifest_that_only_names_its_secrets_needs_no_login(tmp_path):
    auth(tmp_path, Auth(ref="./SECRETS.md")).require()


@requirement("aip-substrate:4.4:fail-fast")
def test_who_is_not_logged_in_is_told_how_to(tmp_path):
    work = auth(tmp_path, Auth(login=Login(cmd="agent login --web", completes_when=DONE)))
    assert state(work) == "unknown"
    fail = required(work)
    assert fail.details["login_command"] == "agent login --web"
    assert fail.hint == "operable agent login agent"
    assert state(work) == "unauthed"


def test_without_a_login_the_variables_are_named(tmp_path):
    fail = required(auth(tmp_path, Auth(state=AuthState(env=("AGENT_KEY",)))))
    assert "AGENT_KEY" in fail.hint
    assert fail.details["login_command"] is None


def test_a_given_variable_is_a_login(tmp_path):
    block = Auth(state=AuthState(env=("AGENT_KEY", "OTHER")), login=Login(cmd="agent login"))
    required(auth(tmp_path, block))
    required(auth(tmp_path, block, secrets={"AGENT_KEY": ""}))
    work = auth(tmp_path, block, secrets={"AGENT_KEY": "x"})
    work.require()
    assert state(work) == "authed"


def test_a_variable_that_is_inherited_counts_only_when_it_is_passed_on(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENT_KEY", "x")
    block = Auth(state=AuthState(env=("AGENT_KEY",)))
    required(auth(tmp_path, block))
    auth(tmp_path, block, inherit=("AGENT_*",)).require()


@pytest.mark.parametrize("path", ["~/.agent/credentials", "{absolute}"])
def test_a_file_that_exists_is_a_login_and_a_file_that_is_gone_none(tmp_path, path):
    file = tmp_path / "home" / ".agent" / "credentials"
    block = Auth(state=AuthState(paths=(path.format(absolute=file),)), login=Login(cmd="agent login"))
    env = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    required(auth(tmp_path, block, env=env))
    file.parent.mkdir(parents=True)
    file.write_text("x")
    auth(tmp_path, block, env=env).require()
    file.unlink()
    required(auth(tmp_path, block, env=env))


def test_the_program_itself_is_asked_when_it_can_say(tmp_path):
    work = auth(tmp_path, Auth(login=Login(cmd="agent login", completes_when=DONE)))
    required(work)
    (tmp_path / "workspace" / "logged-in").touch()
    work.require()
    assert state(work) == "authed"


def test_a_login_makes_it_authed(tmp_path):
    work = auth(tmp_path, Auth(login=Login(cmd="agent login", completes_when=DONE)))
    work.login()
    assert state(work) == "authed"
    work.require()


@requirement("aip-substrate:4.4:per-scope")
def test_a_login_is_kept_per_workspace_and_user(tmp_path):
    block = Auth(login=Login(cmd="agent login"))
    auth(tmp_path, block).login()
    auth(tmp_path, block).require()
    required(auth(tmp_path, block, user="another"))
    (tmp_path / "elsewhere").mkdir()
    required(auth(tmp_path, block, workspace=str(tmp_path / "elsewhere")))


@pytest.mark.parametrize("cmd", ["agent auth", "no-such-program"])
def test_a_login_that_fails_leaves_it_unauthed(tmp_path, cmd):
    work = auth(tmp_path, Auth(login=Login(cmd=cmd)))
    with pytest.raises(Fail):
        work.login()
    assert state(work) == "unauthed"


def test_a_login_is_complete_only_when_the_program_says_so(tmp_path):
    os.mkfifo(tmp_path / "asked")
    program(
        tmp_path / "bin" / "agent",
        f"case $1 in auth) test -f logged-in || {{ read -r _ < {tmp_path}/asked; exit 1; }};; esac",
    )
    work = auth(tmp_path, Auth(login=Login(cmd="agent login", completes_when=DONE)))

    def finish_in_the_browser():
        with open(tmp_path / "asked", "w"):  # waits for the question, which waits for the end of this
            (tmp_path / "workspace" / "logged-in").touch()

    threading.Thread(target=finish_in_the_browser, daemon=True).start()
    work.login()
    assert state(work) == "authed"


@requirement("aip-substrate:4.4:fail-fast")
def test_an_interactive_login_without_a_person_fails_at_once(tmp_path):
    work = auth(tmp_path, Auth(login=Login(cmd="touch ran", interactive=True)))
    with pytest.raises(Fail) as caught:
        work.login()
    assert caught.value.details["aip_code"] == "auth_required"
    assert not (tmp_path / "workspace" / "ran").exists()


def test_an_interactive_login_talks_to_the_person(tmp_path):
    program(
        tmp_path / "bin" / "agent", 'read -r password < /dev/tty; test "$password" = open && touch logged-in'
    )
    master, slave = os.openpty()
    try:
        os.write(master, b"open\r")
        block = Auth(login=Login(cmd="agent login", interactive=True))
        work = auth(tmp_path, block, person=Somebody(terminal=Terminal(slave, slave)))
        work.ensure()
    finally:
        os.close(master)
        os.close(slave)
    assert state(work) == "authed"


def test_a_login_gets_an_address_to_come_back_to_and_what_came(tmp_path):
    program(
        tmp_path / "bin" / "agent",
        'echo "$2" > url.tmp; mv url.tmp url; read -r back; echo "$back" > back; test "$2" = "$OPERABLE_CALLBACK_URL"',
    )
    work = auth(tmp_path, Auth(login=Login(cmd="agent login ${callback_url}", requires_callback_url=True)))
    stop = threading.Event()

    def browse():
        path = tmp_path / "workspace" / "url"
        while not path.exists():
            stop.wait(0.02)
        urllib.request.urlopen(f"{path.read_text().strip()}?code=c0de", timeout=200).close()

    thread = threading.Thread(target=browse, daemon=True)
    thread.start()
    work.login()
    thread.join(20)
    back = (tmp_path / "workspace" / "back").read_text().strip()
    assert back == (tmp_path / "workspace" / "url").read_text().strip() + "?code=c0de"


def test_an_interrupted_login_is_no_login(tmp_path):
    work = auth(tmp_path, Auth(login=Login(cmd="agent login", completes_when=DONE)))
    work.ledger.login_is(work.scope, "logging-in")
    required(work)


# --- refresh and expiry


@requirement("aip-substrate:4.4:refresh")
def test_a_login_is_refreshed_when_its_time_has_come(tmp_path):
    clock = Clock()
    block = Auth(login=Login(cmd="agent login"), refresh=Refresh(cmd="agent refresh", every="PT1H"))
    work = auth(tmp_path, block, clock=clock)
    work.login()
    refreshed = tmp_path / "workspace" / "refreshed"
    clock.now += 3599
    work.require()
    assert not refreshed.exists()
    clock.now += 1
    work.require()
    work.require()
    assert refreshed.read_text().split() == ["x"]
    clock.now += 3600
    work.require()
    assert refreshed.read_text().split() == ["x", "x"]


@requirement("aip-substrate:4.4:refresh")
def test_a_refresh_that_fails_means_logging_in_again(tmp_path):
    clock = Clock()
    block = Auth(login=Login(cmd="agent login"), refresh=Refresh(cmd="agent refresh", every="P1D"))
    work = auth(tmp_path, block, clock=clock)
    work.login()
    clock.now += 86_400
    (tmp_path / "workspace" / "broken").touch()
    assert "refresh ended with 1" in required(work).message
    assert state(work) == "unauthed"
    required(work)


def test_two_at_once_refresh_once(tmp_path):
    clock = Clock()
    block = Auth(login=Login(cmd="agent login"), refresh=Refresh(cmd="agent refresh", every="PT1H"))
    auth(tmp_path, block, clock=clock).login()
    clock.now += 7200
    threads = [threading.Thread(target=auth(tmp_path, block, clock=clock).require) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (tmp_path / "workspace" / "refreshed").read_text().split() == ["x"]


@requirement("aip-substrate:4.4:expiry")
def test_the_exit_code_of_an_expired_login_is_understood(tmp_path):
    work = auth(tmp_path, Auth(login=Login(cmd="agent login"), expiry=Expiry(detect="exit_code:4")))
    work.login()
    assert not any(work.expired(status) for status in (0, 1, None, -4))
    work.require()
    assert work.expired(4)
    assert state(work) == "unauthed"
    required(work)


def test_a_file_from_before_the_expiry_is_no_login_a_newer_one_is(tmp_path):
    file = tmp_path / "credentials"
    file.write_text("old")
    clock = Clock()
    os.utime(file, (clock.now - 10, clock.now - 10))
    block = Auth(
        state=AuthState(paths=(str(file),)),
        login=Login(cmd="agent login"),
        expiry=Expiry(detect="exit_code:4"),
    )
    work = auth(tmp_path, block, clock=clock)
    work.require()
    work.expired(4)
    required(work)
    os.utime(file, (clock.now + 10, clock.now + 10))
    work.require()


def test_a_manifest_without_a_login_says_so(tmp_path):
    with pytest.raises(Fail) as caught:
        auth(tmp_path, Auth()).login()
    assert caught.value.code == "LOGIN_NOT_DECLARED"
