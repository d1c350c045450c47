import threading

import pytest

from operable.host.launch.login.oauth import Client
from operable.kernel.errors import Fail
from operable.manifest.blocks import CmdStep, ExternalStep, OauthStep, Persist, PromptStep, SkipIf
from tests.host.launch.making import Somebody, Turnstile, Vault, agent, launch
from tests.requirement import requirement

SECRET = "s3cret value"


def setup(tmp_path, *steps, **fields):
    fields.setdefault("store", Vault())
    return launch(tmp_path, agent(setup=steps), **fields).setup(None)


def ids(fail):
    """The steps that a failure lists as open."""
    return [step["id"] for step in fail.details["pending"]]


def ran(tmp_path):
    path = tmp_path / "workspace" / "ran"
    return path.read_text().split() if path.exists() else []


def mark(name, **fields):
    return CmdStep(id=name, cmd=f"echo {name} >> ran", **fields)


def test_steps_run_in_order_and_only_once(tmp_path):
    for _ in range(2):
        setup(tmp_path, mark("a"), mark("b"), mark("c")).run()
    assert ran(tmp_path) == ["a", "b", "c"]


@pytest.mark.parametrize("change", [{"user": "another"}, {"workspace": "other"}])
def test_each_workspace_and_user_is_set_up_by_itself(tmp_path, change):
    (tmp_path / "other").mkdir()
    if "workspace" in change:
        change = {"workspace": str(tmp_path / "other")}
    setup(tmp_path, mark("a")).run()
    assert setup(tmp_path, mark("a")).pending() == []
    assert [step.id for step in setup(tmp_path, mark("a"), **change).pending()] == ["a"]


def test_a_step_that_was_rewritten_is_open_again(tmp_path):
    setup(tmp_path, mark("a"), mark("b")).run()
    setup(tmp_path, mark("a"), CmdStep(id="b", cmd="echo b2 >> ran")).run()
    assert ran(tmp_path) == ["a", "b", "b2"]


@requirement("aip-substrate:4.5:failure")
def test_a_failure_names_its_step_and_stops_there(tmp_path):
    steps = (mark("a"), CmdStep(id="broken", cmd="sh -c 'echo why >&2; exit 4'"), mark("c"))
    with pytest.raises(Fail) as caught:
        setup(tmp_path, *steps).run()
    fail = caught.value
    assert (fail.code, fail.details["aip_code"], fail.details["step"]) == (
        "SETUP_FAILED",
        "setup_failed",
        "broken",
    )
    assert "why" in fail.message
    assert ran(tmp_path) == ["a"]
    assert [step.id for step in setup(tmp_path, *steps).pending()] == ["broken", "c"]


@requirement("aip-substrate:4.5:skip-if")
def test_a_matching_skip_if_settles_the_step_and_is_remembered(tmp_path):
    check = SkipIf(cmd=f"sh -c 'read -r _ < {tmp_path}/turnstile/asked; exit 7'", exit_code=7)
    steps = (mark("a", skip_if=check), mark("b", skip_if=SkipIf(cmd="false")))
    with Turnstile(tmp_path / "turnstile", "asked") as turnstile:
        setup(tmp_path, *steps).run()
        setup(tmp_path, *steps).run()
    assert (turnstile.passed, ran(tmp_path)) == (["asked"], ["b"])


@pytest.mark.parametrize("cmd", ["sleep 60", "no-such-program", "echo ${input.missing}", "false"])
def test_a_skip_if_that_cannot_be_asked_does_not_match(tmp_path, cmd):
    step = mark("a", skip_if=SkipIf(cmd=cmd, timeout_ms=200))
    assert [each.id for each in setup(tmp_path, step).pending()] == ["a"]


def test_without_a_person_what_is_open_is_listed_and_nothing_is_asked(tmp_path):
    steps = (
        mark("a"),
        PromptStep(id="b", prompt="Name?"),
        OauthStep(id="c", secret_slug="gh", description="GitHub"),
    )
    with pytest.raises(Fail) as caught:
        setup(tmp_path, *steps).require()
    fail = caught.value
    assert (fail.code, fail.details["aip_code"]) == ("SETUP_REQUIRED", "setup_required")
    assert fail.details["pending"] == [
        {"id": "a", "kind": "cmd", "description": "", "needs_person": False},
        {"id": "b", "kind": "prompt", "description": "Name?", "needs_person": True},
        {"id": "c", "kind": "oauth", "description": "GitHub", "needs_person": True},
    ]
    assert ran(tmp_path) == []


def test_running_without_a_person_does_what_it_can_and_lists_the_rest(tmp_path):
    with pytest.raises(Fail) as caught:
        setup(tmp_path, mark("a"), PromptStep(id="b", prompt="?"), mark("c")).run()
    assert ids(caught.value) == ["b", "c"]
    assert ran(tmp_path) == ["a"]


def test_answers_given_beforehand_stand_for_a_person(tmp_path):
    vault = Vault()
    step = PromptStep(
        id="team", prompt="?", type="select", options=("red", "blue"), persist=Persist(env="TEAM")
    )
    work = setup(tmp_path, step, store=vault, answers={"team": "red"})
    work.run()
    assert work.environment() == {"TEAM": "red"}


@requirement("aip-substrate:4.5:persist")
def test_a_value_for_a_variable_is_kept_in_the_store_and_given_at_every_start(tmp_path):
    vault = Vault()
    step = PromptStep(id="token", prompt="?", type="secret", persist=Persist(env="AGENT_TOKEN"))
    setup(tmp_path, step, store=vault, person=Somebody(SECRET)).run()
    later = setup(tmp_path, step, store=vault)
    later.run()
    assert later.environment() == {"AGENT_TOKEN": SECRET}
    state = b"".join(path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file())
    assert SECRET.encode() not in state


@requirement("aip-substrate:4.5:persist")
def test_a_value_for_a_secret_goes_to_its_slug(tmp_path):
    vault = Vault()
    step = CmdStep(id="a", cmd="printf '%s' 'abc def'", persist=Persist(secret_slug="agent/token"))
    setup(tmp_path, step, store=vault).run()
    assert vault.values == {"agent/token": "abc def"}


@requirement("aip-substrate:4.5:persist")
def test_a_value_for_a_command_arrives_as_one_word(tmp_path):
    nasty = "x'; touch owned; echo \"$(touch owned)"
    step = PromptStep(id="a", prompt="?", persist=Persist(cmd="sh -c 'printf %s \"$1\" > kept' - ${value}"))
    setup(tmp_path, step, person=Somebody(nasty)).run()
    assert (tmp_path / "workspace" / "kept").read_text() == nasty
    assert not (tmp_path / "workspace" / "owned").exists()


def test_a_command_that_cannot_keep_the_value_fails_the_step_without_showing_it(tmp_path):
    step = PromptStep(
        id="a",
        prompt="?",
        type="secret",
        persist=Persist(cmd="sh -c 'echo \"bad $1\" >&2; exit 1' - ${value}"),
    )
    with pytest.raises(Fail) as caught:
        setup(tmp_path, step, person=Somebody(SECRET)).run()
    assert caught.value.details["step"] == "a"
    assert SECRET not in str(caught.value.event())


@requirement("aip-substrate:4.5:references")
def test_earlier_values_can_be_used_later_also_in_a_later_run(tmp_path):
    vault = Vault(**{"gh-token": "t0ken"})
    first = PromptStep(id="team", prompt="?", persist=Persist(cmd="true ${value}"))
    use = CmdStep(id="use", cmd="sh -c 'echo \"$1 $2\" > used' - ${input.team} ${secrets.gh-token}")
    ask = PromptStep(id="confirm", prompt="Team ${input.team}?", type="boolean")
    with pytest.raises(Fail):
        setup(tmp_path, first, ask, use, store=vault, answers={"team": "red team"}).run()
    person = Somebody("yes")
    setup(tmp_path, first, ask, use, store=vault, person=person).run()
    assert (tmp_path / "workspace" / "used").read_text() == "red team t0ken\n"
    assert person.asked[0].prompt == "Team red team?"


def test_a_value_that_is_missing_fails_the_step_that_needs_it(tmp_path):
    with pytest.raises(Fail) as caught:
        setup(tmp_path, CmdStep(id="a", cmd="echo ${secrets.none}")).run()
    assert (caught.value.code, caught.value.details["step"]) == ("SETUP_FAILED", "a")


def test_a_failing_command_does_not_show_the_secrets_it_was_given(tmp_path):
    step = CmdStep(id="a", cmd="sh -c 'echo \"bad $1\" >&2; exit 1' - ${secrets.gh-token}")
    with pytest.raises(Fail) as caught:
        setup(tmp_path, step, store=Vault(**{"gh-token": SECRET})).run()
    assert SECRET not in str(caught.value.event())


def test_a_value_that_nobody_can_keep_fails_the_step(tmp_path):
    step = CmdStep(id="a", cmd="echo x", persist=Persist(env="X"))
    with pytest.raises(Fail, match="no store of secrets"):
        setup(tmp_path, step, store=None).run()


def test_a_step_that_gives_no_value_to_keep_fails(tmp_path):
    step = ExternalStep(id="a", url="https://x.example/", persist=Persist(env="X"))
    with pytest.raises(Fail) as caught:
        setup(tmp_path, step, person=Somebody("")).run()
    assert caught.value.code == "SETUP_FAILED"


def test_the_provider_of_an_oauth_step_is_looked_up_by_its_slug(tmp_path):
    asked = []

    def client(slug) -> Client | None:
        asked.append(slug)
        return None

    with pytest.raises(Fail, match=r"metadata\.oauth"):
        setup(tmp_path, OauthStep(id="a", secret_slug="gh"), person=Somebody(), client=client).run()
    assert asked == ["gh"]


def test_a_stop_is_not_a_failure_of_the_step(tmp_path):
    stop = threading.Event()
    stop.set()
    with pytest.raises(Fail) as caught:
        setup(tmp_path, CmdStep(id="a", cmd="sleep 60"), stop=stop).run()
    assert caught.value.category == "cancelled"


def test_two_at_once_run_each_step_once(tmp_path):
    threads = [threading.Thread(target=setup(tmp_path, mark("a"), mark("b")).run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert ran(tmp_path) == ["a", "b"]
