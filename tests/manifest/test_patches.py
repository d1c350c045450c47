from typing import Any

import pytest

from operable.manifest import AgentCli, SelectionError, spawn_for, strategy_for
from operable.manifest.patches import option_from_text
from tests.manifest.samples import changed, loaded
from tests.requirement import requirement

PATCHED = changed(
    "agent-cli",
    bin_args=["acp"],
    modes=[
        {"id": "default"},
        {
            "id": "plan",
            "bin_args_append": ["--permission-mode", "plan"],
            "env": {"MODE": "plan", "SHARED": "mode"},
        },
    ],
    options=[
        {
            "id": "effort",
            "type": "enum",
            "enum": ["low", "high"],
            "default": "low",
            "bin_args_template": ["--effort={value}"],
        },
        {
            "id": "max_turns",
            "type": "integer",
            "min": 1,
            "max": 200,
            "bin_args_template": ["--max-turns", "{value}"],
        },
        {"id": "auto", "type": "boolean", "bin_args_append_when_true": ["--auto"]},
        {
            "id": "title",
            "type": "string",
            "bin_args_template": ["--title", "{value}"],
            "env": {"SHARED": "<{value}>"},
        },
        {"id": "debug", "type": "boolean", "env": {"DEBUG": "{value}"}},
    ],
    models={
        "default": "small",
        "allowed": ["small", "acme/large"],
        "env": {"acme": "ACME_KEY", "other": "OTHER_KEY"},
    },
    continuation={"default": "pinned-session", "supported": ["pinned-session", "transcript"]},
)


@pytest.fixture
def agent() -> AgentCli:
    return loaded("agent-cli", PATCHED).as_(AgentCli)


def refused(agent: AgentCli, **selection) -> dict[str, str]:
    with pytest.raises(SelectionError) as caught:
        spawn_for(agent, **selection)
    return {refusal.target: refusal.code for refusal in caught.value.refusals}


@requirement("aip45:modes:default-is-no-patch")
def test_without_a_choice_the_arguments_are_those_of_the_manifest(agent):
    spawn = spawn_for(agent)

    assert (spawn.args, spawn.env) == (("acp",), {})


@requirement(
    "aip45:modes:after-bin-args-before-options", "aip45:options:independent", "aip45:modes:one-at-most"
)
def test_arguments_are_those_of_the_manifest_then_the_mode_then_the_options_as_declared(agent):
    spawn = spawn_for(agent, mode="plan", options={"auto": True, "max_turns": 5, "effort": "high"})

    assert spawn.args == ("acp", "--permission-mode", "plan", "--effort=high", "--max-turns", "5", "--auto")


@requirement("aip45:options:env")
def test_an_option_has_the_last_word_in_the_environment(agent):
    spawn = spawn_for(agent, mode="plan", options={"title": "a", "debug": True})

    assert spawn.env == {"MODE": "plan", "SHARED": "<a>", "DEBUG": "true"}


@requirement("aip45:options:template-when-not-default")
def test_a_value_that_is_the_default_patches_nothing(agent):
    assert spawn_for(agent, options={"effort": "low", "debug": False}).args == ("acp",)
    assert spawn_for(agent, options={"debug": False}).env == {}


@requirement("aip45:options:append-when-true")
def test_a_flag_is_appended_for_true_only_also_when_true_is_the_default(agent):
    assert spawn_for(agent, options={"auto": True}).args == ("acp", "--auto")
    assert spawn_for(agent, options={"auto": False}).args == ("acp",)
    on = {"id": "auto", "type": "boolean", "default": True, "bin_args_append_when_true": ["--auto"]}
    by_default = loaded("agent-cli", changed("agent-cli", options=[on])).as_(AgentCli)
    assert spawn_for(by_default).args == ("--auto",)
    assert spawn_for(by_default, options={"auto": False}).args == ()


@requirement("aip45:options:value-token")
@pytest.mark.parametrize("value", ["{value}", "a {value} b", "$HOME", "x; rm -rf /", "ü\n", "%s {0}"])
def test_a_value_is_put_in_once_as_it_is_and_never_read_again(agent, value):
    spawn = spawn_for(agent, options={"title": value})

    assert spawn.args == ("acp", "--title", value)
    assert spawn.env["SHARED"] == f"<{value}>"


@requirement("aip45:modes:unknown-rejected")
def test_an_unknown_mode_is_rejected_with_what_was_meant(agent):
    with pytest.raises(SelectionError) as caught:
        spawn_for(agent, mode="plam")

    assert (caught.value.code, caught.value.category, caught.value.hint) == (
        "MODE_UNKNOWN",
        "usage",
        "did you mean plan? to see what each does: operable agent show hermes",
    )


@requirement("aip45:options:unknown-rejected")
def test_an_unknown_option_is_rejected(agent):
    assert refused(agent, options={"max_turn": 5}) == {"options.max_turn": "OPTION_UNKNOWN"}


@requirement("aip45:options:validated")
@pytest.mark.parametrize(
    "name, value, code",
    [
        ("auto", "true", "OPTION_TYPE"),
        ("auto", 1, "OPTION_TYPE"),
        ("max_turns", True, "OPTION_TYPE"),
        ("max_turns", "5", "OPTION_TYPE"),
        ("max_turns", 5.0, "OPTION_TYPE"),
        ("max_turns", 0, "OPTION_RANGE"),
        ("max_turns", 201, "OPTION_RANGE"),
        ("effort", "medium", "OPTION_ENUM"),
        ("effort", None, "OPTION_TYPE"),
        ("title", 5, "OPTION_TYPE"),
        ("title", "a\x00b", "OPTION_TEXT"),
        ("title", "--dangerously-skip", "OPTION_TEXT"),
    ],
)
def test_a_value_is_checked_against_its_option(agent, name, value, code):
    assert refused(agent, options={name: value}) == {f"options.{name}": code}


@requirement("aip45:options:validated")
def test_everything_that_is_wrong_with_a_choice_is_told_at_once(agent):
    found = refused(agent, mode="x", model="y", options={"auto": 1, "max_turns": 0, "nope": 1})

    assert found == {
        "mode": "MODE_UNKNOWN",
        "model": "MODEL_NOT_ALLOWED",
        "options.auto": "OPTION_TYPE",
        "options.max_turns": "OPTION_RANGE",
        "options.nope": "OPTION_UNKNOWN",
    }


def test_one_event_carries_all_refusals(agent):
    with pytest.raises(SelectionError) as caught:
        spawn_for(agent, mode="x", options={"nope": 1})

    event: dict[str, Any] = caught.value.event()
    assert event["code"] == "SELECTION_INVALID"
    assert [problem["code"] for problem in event["problems"]] == ["MODE_UNKNOWN", "OPTION_UNKNOWN"]


# --- models


def test_without_a_choice_the_model_is_the_default_and_nothing_is_said_about_it(agent):
    spawn = spawn_for(agent)

    assert (spawn.model, spawn.model_by_protocol) == ("small", False)
    assert spawn.model_variables == ("ACME_KEY", "OTHER_KEY")


def test_a_model_without_an_option_is_left_to_the_protocol_with_the_key_of_its_provider(agent):
    spawn = spawn_for(agent, model="acme/large")

    assert (spawn.args, spawn.model, spawn.model_by_protocol) == (("acp",), "acme/large", True)
    assert spawn.model_variables == ("ACME_KEY",)


def test_a_model_that_is_not_allowed_is_refused_however_it_is_given(agent):
    option = {"id": "model", "type": "string", "bin_args_template": ["--model", "{value}"]}
    by_option = loaded("agent-cli", {**PATCHED, "options": [option]}).as_(AgentCli)

    assert refused(agent, model="huge") == {"model": "MODEL_NOT_ALLOWED"}
    assert refused(by_option, options={"model": "huge"}) == {"model": "MODEL_NOT_ALLOWED"}


def test_a_model_goes_through_the_option_of_that_name():
    option = {"id": "model", "type": "string", "bin_args_template": ["--model", "{value}"]}
    agent = loaded("agent-cli", {**PATCHED, "options": [option]}).as_(AgentCli)

    assert spawn_for(agent, model="acme/large").args == ("acp", "--model", "acme/large")
    assert not spawn_for(agent, model="acme/large").model_by_protocol
    assert spawn_for(agent, model="small").args == ("acp",)
    assert spawn_for(agent, options={"model": "acme/large"}).model == "acme/large"
    assert refused(agent, model="small", options={"model": "acme/large"}) == {"model": "MODEL_CONFLICT"}


def test_without_a_list_any_model_may_be_asked_for():
    agent = loaded("agent-cli").as_(AgentCli)

    assert spawn_for(agent, model="anything").model == "anything"


# --- continuation


@requirement("aip45:continuation:operator-override")
def test_the_strategy_is_the_default_or_the_chosen_one(agent):
    assert strategy_for(agent) == "pinned-session"
    assert strategy_for(agent, "transcript") == "transcript"
    assert strategy_for(loaded("agent-cli").as_(AgentCli)) == "none"


@requirement("aip45:continuation:unsupported-refused")
def test_a_strategy_outside_of_those_supported_is_refused(agent):
    with pytest.raises(SelectionError) as caught:
        strategy_for(agent, "native-resume")

    assert caught.value.code == "CONTINUATION_UNSUPPORTED"
    with pytest.raises(SelectionError):
        strategy_for(loaded("agent-cli").as_(AgentCli), "pinned-session")


# --- values as people type them


@pytest.mark.parametrize(
    "name, text, value",
    [
        ("auto", "true", True),
        ("auto", "FALSE", False),
        ("auto", "yes", True),
        ("auto", "No", False),
        ("auto", "1", "1"),
        ("max_turns", "5", 5),
        ("max_turns", "-5", -5),
        ("max_turns", "5.5", "5.5"),
        ("max_turns", "9" * 30, "9" * 30),
        ("title", "5", "5"),
    ],
)
def test_a_typed_text_becomes_the_value_that_its_option_has(agent, name, text, value):
    option = next(option for option in agent.options if option.id == name)

    assert option_from_text(option, text) == value
