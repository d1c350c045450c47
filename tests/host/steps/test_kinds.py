import json
import os
import threading
import urllib.error
import urllib.request
from urllib.parse import parse_qs, urlsplit

import pytest

from operable.host.launch.login.oauth import Client
from operable.host.launch.process import CommandSurroundings
from operable.host.launch.step import StepFailed, StepJob, step_kind
from operable.manifest.blocks import (
    Callback,
    CmdStep,
    ExternalStep,
    OauthStep,
    OptionsCmd,
    Persist,
    PromptStep,
    SetupStep,
)
from operable.proc.terminal import Terminal
from tests.host.launch.making import Somebody, server
from tests.requirement import requirement


def run(tmp_path, step, person=None, **fields):
    surroundings = CommandSurroundings(str(tmp_path), env={"PATH": "/usr/bin:/bin"})
    return step_kind(step).run(StepJob(step, surroundings, person, **fields))


def visit(url):
    try:
        with urllib.request.urlopen(url, timeout=200) as response:
            return response.status
    except urllib.error.HTTPError as problem:
        problem.close()
        return problem.code


# --- cmd


def test_a_command_has_no_value_unless_one_is_wanted(tmp_path):
    assert run(tmp_path, CmdStep(id="a", cmd="echo hello")) is None
    assert run(tmp_path, CmdStep(id="a", cmd="echo ' hello '", persist=Persist(env="X"))) == "hello"


def test_a_command_that_fails_says_what_it_said(tmp_path):
    with pytest.raises(StepFailed, match="ended with 3: broken"):
        run(tmp_path, CmdStep(id="a", cmd="sh -c 'echo broken >&2; exit 3'"))


@pytest.mark.parametrize(
    "cmd, word", [("sleep 60", "did not end within"), ("no-such-program", "cannot find"), ("", "empty")]
)
def test_a_command_that_cannot_succeed_fails_the_step(tmp_path, cmd, word):
    with pytest.raises(Exception, match=word):
        run(tmp_path, CmdStep(id="a", cmd=cmd, timeout_ms=200))


def test_a_value_without_end_is_refused(tmp_path):
    step = CmdStep(id="a", cmd="head -c 3000000 /dev/zero", persist=Persist(env="X"))
    with pytest.raises(StepFailed, match="more than a value"):
        run(tmp_path, step)


@requirement("aip-substrate:4.5:interactive")
def test_an_interactive_command_gets_a_terminal(tmp_path):
    master, slave = os.openpty()
    try:
        os.write(master, b"blue\r")
        ask = f"sh -c 'test -t 0 && test -t 1 && read colour < /dev/tty && echo $colour > {tmp_path}/colour'"
        run(tmp_path, CmdStep(id="a", cmd=ask, interactive=True), Somebody(terminal=Terminal(slave, slave)))
    finally:
        os.close(master)
        os.close(slave)
    assert (tmp_path / "colour").read_text() == "blue\n"


@pytest.mark.parametrize("person", [None, Somebody()])
def test_an_interactive_command_without_a_terminal_is_not_run(tmp_path, person):
    with pytest.raises(StepFailed):
        run(tmp_path, CmdStep(id="a", cmd="touch x", interactive=True), person)
    assert not (tmp_path / "x").exists()


# --- prompt


def test_a_text_is_asked_for_with_what_is_known(tmp_path):
    person = Somebody("https://gateway.example")
    step = PromptStep(id="url", prompt="Gateway of ${input.team}?", default="none", description="why")
    assert run(tmp_path, step, person, values={"input.team": "red"}) == "https://gateway.example"
    question = person.asked[0]
    assert (question.prompt, question.type, question.default, question.description) == (
        "Gateway of red?",
        "text",
        "none",
        "why",
    )


def test_an_empty_answer_is_the_default(tmp_path):
    assert run(tmp_path, PromptStep(id="a", prompt="?", default="d"), Somebody("")) == "d"
    with pytest.raises(StepFailed, match="no answer"):
        run(tmp_path, PromptStep(id="a", prompt="?"), Somebody("", " ", ""))


@pytest.mark.parametrize(
    "answer, value", [("yes", "true"), ("Y", "true"), ("1", "true"), ("no", "false"), ("False", "false")]
)
def test_a_boolean_is_true_or_false(tmp_path, answer, value):
    assert run(tmp_path, PromptStep(id="a", prompt="?", type="boolean"), Somebody(answer)) == value


def test_a_wrong_choice_is_asked_again_twice(tmp_path):
    step = PromptStep(id="a", prompt="?", type="select", options=("red", "blue"))
    person = Somebody("green", "pink", "blue")
    assert run(tmp_path, step, person) == "blue"
    assert person.asked[0].options == (("red", "red"), ("blue", "blue"))
    with pytest.raises(StepFailed, match="not one of the choices"):
        run(tmp_path, step, Somebody("a", "b", "c"))


@requirement("aip-substrate:4.5:options-from-command")
def test_choices_come_from_a_command(tmp_path):
    (tmp_path / "list").write_text("c1\tGeneral\n\nc2\n")
    person = Somebody("c2")
    assert (
        run(
            tmp_path,
            PromptStep(id="a", prompt="?", type="select", options=OptionsCmd(cmd="cat list")),
            person,
        )
        == "c2"
    )
    assert person.asked[0].options == (("c1", "General"), ("c2", "c2"))


@pytest.mark.parametrize("cmd", ["false", "true", "no-such-program", "seq 2000"])
def test_choices_that_cannot_be_listed_fail_the_step(tmp_path, cmd):
    with pytest.raises(StepFailed, match="choices"):
        run(
            tmp_path,
            PromptStep(id="a", prompt="?", type="select", options=OptionsCmd(cmd=cmd)),
            Somebody("1"),
        )


def test_an_answer_given_beforehand_is_held_to_the_same_rules(tmp_path):
    step = PromptStep(id="a", prompt="?", type="select", options=("red", "blue"))
    assert run(tmp_path, step, answer="red") == "red"
    with pytest.raises(StepFailed):
        run(tmp_path, step, answer="green")


def test_a_secret_is_kept_to_the_letter(tmp_path):
    assert run(tmp_path, PromptStep(id="a", prompt="?", type="secret"), Somebody(" s3 cret ")) == " s3 cret "


# --- external


def test_the_browser_comes_back_with_the_value(tmp_path):
    statuses = []

    def browse(url):
        callback = parse_qs(urlsplit(url).query)["back"][0]
        statuses.append(visit(f"{callback}?channel_id=c42&other=x"))

    step = ExternalStep(
        id="a",
        url="https://x.example/pick?back=${callback_url}",
        callback=Callback(param="channel_id", timeout_ms=30_000),
    )
    assert run(tmp_path, step, Somebody(visit=browse)) == "c42"


def test_an_address_without_a_place_for_the_callback_gets_one(tmp_path):
    def browse(url):
        visit(f"{parse_qs(urlsplit(url).query)['redirect_uri'][0]}?code=1")

    person = Somebody(visit=browse)
    step = ExternalStep(
        id="a",
        url="https://x.example/pick?team=${input.team}#top",
        callback=Callback(param="code", timeout_ms=30_000),
    )
    assert run(tmp_path, step, person, values={"input.team": "a&b"}) == "1"
    url, why = person.opened[0]
    assert url.startswith("https://x.example/pick?team=a%26b&redirect_uri=http%3A%2F%2F127.0.0.1%3A")
    assert url.endswith("#top")
    assert why == "setup step a"


def test_a_browser_that_comes_back_without_the_value_fails_the_step(tmp_path):
    def browse(url):
        visit(f"{parse_qs(urlsplit(url).query)['redirect_uri'][0]}?error=denied")

    step = ExternalStep(id="a", url="https://x.example/", callback=Callback(param="code", timeout_ms=30_000))
    with pytest.raises(StepFailed, match="without 'code'"):
        run(tmp_path, step, Somebody(visit=browse))


def test_a_browser_that_never_comes_back_does_not_hold_anybody(tmp_path):
    step = ExternalStep(id="a", url="https://x.example/", callback=Callback(timeout_ms=100))
    with pytest.raises(StepFailed, match="did not come back"):
        run(tmp_path, step, Somebody())


def test_without_a_callback_the_person_pastes_or_confirms(tmp_path):
    paste = ExternalStep(id="a", url="https://x.example/", persist=Persist(secret_slug="a-token"))
    person = Somebody(" t0ken ")
    assert run(tmp_path, paste, person) == "t0ken"
    assert person.asked[0].type == "secret"
    confirm = ExternalStep(id="a", url="https://x.example/")
    assert run(tmp_path, confirm, Somebody("yes")) is None
    with pytest.raises(StepFailed, match="not done"):
        run(tmp_path, confirm, Somebody("no"))


@pytest.mark.parametrize("url", ["file:///etc/passwd", "javascript:alert(1)", "x"])
def test_only_web_addresses_are_opened(tmp_path, url):
    person = Somebody("yes")
    with pytest.raises(StepFailed, match="not a web address"):
        run(tmp_path, ExternalStep(id="a", url=url), person)
    assert person.opened == []


# --- oauth


def test_consent_becomes_a_token(tmp_path):
    form = {}

    def token(request):
        form.update(parse_qs(request.rfile.read(int(request.headers["Content-Length"])).decode()))
        body = json.dumps({"access_token": "at", "refresh_token": "rt", "expires_in": 60}).encode()
        request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    with server({"/token": token}) as url:

        def browse(address):
            asked = parse_qs(urlsplit(address).query)
            visit(f"{asked['redirect_uri'][0]}?code=c0de&state={asked['state'][0]}")

        client = Client("https://login.example/authorize", f"{url}/token", "me", ("read", "write"))
        person = Somebody(visit=browse)
        value = json.loads(run(tmp_path, OauthStep(id="a", secret_slug="gh"), person, client=client))
    assert (value["accessToken"], value["refreshToken"]) == ("at", "rt")
    assert value["expiresAt"] > 0
    assert form["code"] == ["c0de"]
    assert "scope=read+write" in person.opened[0][0]


def test_a_secret_without_a_provider_says_what_is_missing(tmp_path):
    with pytest.raises(StepFailed, match=r"metadata\.oauth"):
        run(tmp_path, OauthStep(id="a", secret_slug="gh"), Somebody())


def test_a_stop_ends_the_wait_for_a_browser(tmp_path):
    from operable.kernel.errors import Fail

    stop = threading.Event()
    stop.set()
    step = ExternalStep(id="a", url="https://x.example/", callback=Callback())
    job = StepJob(step, CommandSurroundings(str(tmp_path), stop=stop), Somebody())
    with pytest.raises(Fail) as caught:
        step_kind(step).run(job)
    assert caught.value.category == "cancelled"


def test_every_kind_says_whether_it_needs_somebody():
    steps: list[SetupStep] = [
        CmdStep(id="a", cmd="x"),
        CmdStep(id="a", cmd="x", interactive=True),
        PromptStep(id="a", prompt="?"),
    ]
    steps += [OauthStep(id="a", secret_slug="gh"), ExternalStep(id="a", url="https://x.example")]
    assert [step_kind(step).needs_person(step) for step in steps] == [False, True, True, True, True]
