"""What a user allows one wrapper beyond its manifests; and what comes back of it."""

import asyncio
import base64
import json

import pytest

from operable.kernel.errors import Fail
from operable.serve.sources.wrap import SOURCE
from operable.wrap.plan.settings import allowed, allowed_to_server
from tests.cli.drive import operable
from tests.wrap.drive import Made

ECHO = """#!/bin/sh
[ "$1" = --version ] && { echo 1.0; exit; }
printf '{"token":"%s","url":"%s","other":"%s"}\\n' "$MY_TOKEN" "$MY_URL" "$OTHER"
"""
SECRETS = {"MY_TOKEN": "hunter2-hunter2", "MY_URL": "pg://ada:swordfish@db/x", "OTHER": "not-for-you"}


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """A function that writes the settings of a user."""
    home = tmp_path / "home"
    (home / "config").mkdir(parents=True)
    monkeypatch.setenv("OPERABLE_HOME", str(home))
    return (home / "config" / "wrap.toml").write_text


def test_a_program_gets_what_its_user_allows_it_and_nothing_else(tmp_path, settings):
    made = Made(
        tmp_path, ECHO.replace('"$MY_TOKEN"', '"${MY_TOKEN:+given}"').replace('"$MY_URL"', '"${MY_URL%%:*}"')
    )
    settings('[prog]\nenv = ["MY_*"]\n[other]\nenv = ["OTHER"]\n')

    (row,) = made.go(env=SECRETS).results

    assert (row["token"], row["url"], row["other"]) == ("given", "pg", "")


def test_without_settings_nothing_is_passed_on(tmp_path, settings):
    made = Made(tmp_path, ECHO)

    (row,) = made.go(env=SECRETS).results

    assert (row["token"], row["url"], row["other"]) == ("", "", "")


def test_settings_are_in_force_as_soon_as_they_are_written_and_gone_when_they_are(tmp_path, settings):
    made = Made(tmp_path, ECHO)
    seen = []
    for names in ([], ["OTHER"], []):
        settings(f"[prog]\nenv = {json.dumps(names)}\n")
        seen.append(made.go(env=SECRETS).results[0]["other"])

    assert seen == ["", "not-for-you", ""]


def test_a_secret_in_a_variable_comes_back_neither_in_results_nor_in_errors_nor_in_warnings(
    tmp_path, settings
):
    coded = base64.b64encode(SECRETS["MY_TOKEN"].encode()).decode()
    program = (
        ECHO
        + f"""
echo "no json: $MY_TOKEN"
echo '{{"deep":[{{"er":["Basic {coded}"]}}]}}'
echo "trouble with $MY_TOKEN at $MY_URL" >&2
exit 3
"""
    )
    made = Made(tmp_path, program)
    settings('[prog]\nenv = ["MY_TOKEN", "MY_URL"]\n')

    done = made.go(env=SECRETS)

    assert done.results[0]["token"] == "[redacted]"
    assert done.results[0]["url"] == "pg://ada:[redacted]@db/x"
    assert done.results[1]["deep"] == [{"er": ["Basic [redacted]"]}]
    assert done.error["upstream_exit"] == 3
    shown = done.stdout.decode() + done.stderr
    assert not [secret for secret in ("hunter2", "swordfish", coded) if secret in shown]


def test_a_secret_is_one_as_the_name_of_a_field_and_with_a_slash_at_its_beginning_too(tmp_path, settings):
    made = Made(
        tmp_path,
        "#!/bin/sh\n"
        """printf '{"a":{"%s":1,"%s x":2},"%s":3,"b":"%s"}\\n' "$MY_TOKEN" "$MY_TOKEN" "$MY_TOKEN" "$MY_KEY_TOKEN"\n""",
    )
    settings('[prog]\nenv = ["MY_*"]\n')

    done = made.go(env=SECRETS | {"MY_KEY_TOKEN": "/wJalrXUtnFEMI/K7MDENG"})

    (row,) = done.results
    assert row["a"] == {"[redacted]": 1, "[redacted] x": 2}
    assert (row["[redacted]"], row["b"]) == (3, "[redacted]")


def test_a_secret_comes_back_neither_in_a_plan_nor_in_a_notice_of_a_parser(tmp_path, settings):
    made = Made(
        tmp_path,
        "#!/bin/sh\n",
        tool={
            "mutates": ["workspace:."],
            "approval": "on-mutate",
            "risk_level": 1,
            "metadata": {"operable": {"plan": {"function": "plan"}, "function": "apply"}},
        },
        parser="import os\nfrom operable.tool.framework import Change, Warn\n"
        "def plan(upstream):\n"
        "    said = os.environ['MY_TOKEN']\n"
        "    yield Warn('SAID', said)\n"
        "    yield Change('go', said, before=[said])\n"
        "def apply(upstream):\n    yield Warn('SAID', os.environ['MY_TOKEN'])\n",
    )
    settings('[prog]\nenv = ["MY_TOKEN"]\n')

    for words in (["--dry-run"], []):
        done = made.go(*words, env=SECRETS)
        assert done.exit_code == 0, done.stdout
        assert "[redacted]" in done.stdout.decode()
        assert "hunter2" not in done.stdout.decode() + done.stderr


def test_values_that_are_no_secrets_stay_as_they_are(tmp_path, settings):
    """What is lossless stays so: a path, a short word, a name that announces nothing."""
    made = Made(tmp_path, ECHO)
    settings('[prog]\nenv = ["MY_TOKEN", "MY_URL", "OTHER"]\n')
    given = {"MY_TOKEN": "/etc/passwd", "MY_URL": "https://db.example/x", "OTHER": "password=kept"}

    (row,) = made.go(env=given).results

    assert (row["token"], row["url"], row["other"]) == tuple(given.values())


def test_the_mcp_server_passes_on_the_same(tmp_path, settings):
    async def heard(*_):
        pass

    made = Made(tmp_path, ECHO)
    settings('[prog]\nenv = ["OTHER"]\n')
    with pytest.MonkeyPatch.context() as patch:
        for name, value in made.env.items():
            patch.setenv(name, value)
            patch.setenv("OTHER", "for-you")
        (found,) = [each for each in SOURCE.find(str(tmp_path)) if each.name == "prog"]
        assert found.adapter is not None
        answer = asyncio.run(found.adapter.call(found.actions[0], {}, confirmed=False, progress=heard))

    assert [entry["other"] for entry in answer.entries] == ["for-you"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[prog\n", "not TOML"),
        ("prog = 3\n", "table"),
        ('[prog]\nenv = "A"\n', "list of names"),
        ('[prog]\nenv = ["*"]\n', "neither a name of a variable"),
        ('[prog]\nenv = ["A=hunter2"]\n', "neither a name of a variable"),
        ("[prog]\nenv = [1]\n", "neither a name of a variable"),
        ('[prog]\nenvironment = ["A"]\n', "'environment'"),
    ],
)
def test_settings_that_cannot_be_understood_are_an_error_and_never_shown(tmp_path, settings, text, says):
    made = Made(tmp_path, ECHO)
    settings(text)

    done = made.go()

    assert (done.exit_code, done.error["code"], done.error["category"]) == (
        78,
        "WRAP_SETTINGS_INVALID",
        "config",
    )
    assert says in done.error["message"]
    assert "hunter2" not in done.stdout.decode()


def test_a_mistake_for_one_wrapper_does_not_concern_another(settings):
    settings('[prog]\nenv = ["*"]\n')

    assert allowed("git") == []
    with pytest.raises(Fail):
        allowed("prog")
    found = {event["name"]: event for event in operable("wrap", "list").results}
    assert found["git"]["problem"] is None


def test_a_server_is_known_by_the_words_that_start_it(settings):
    settings('[mcp."npx -y \'some server\'"]\nenv = ["A"]\n[mcp."npx other"]\nenv = ["B"]\n')

    assert allowed_to_server(["npx", "-y", "some server"]) == (["A"], False)
    assert allowed_to_server(["npx", "-y", "some server", "--more"]) == ([], False)
    assert allowed_to_server(["npx"]) == ([], False)


@pytest.mark.parametrize("text", ["mcp = 3\n", '[mcp."it\'s"]\nenv = []\n', '[mcp.npx]\nenv = ["*"]\n'])
def test_settings_of_servers_that_cannot_be_understood_are_an_error(settings, text):
    settings(text)

    with pytest.raises(Fail) as caught:
        allowed_to_server(["npx"])

    assert caught.value.code == "WRAP_SETTINGS_INVALID"


def test_a_misspelt_wrapper_is_told_with_the_name_that_was_meant(tmp_path, settings):
    made = Made(tmp_path, ECHO)
    settings('[porg]\nenv = ["OTHER"]\n[mcp."some server"]\nenv = ["OTHER"]\n')

    done = made.go(env=SECRETS)

    (warning,) = done.of("aoi:warning")
    assert warning["code"] == "WRAP_SETTINGS_UNUSED"
    assert "'porg'" in warning["message"]
    assert "did you mean [prog]?" in warning["hint"]
    assert (done.exit_code, done.results[0]["other"]) == (0, "")


def test_a_wrapper_that_appears_later_is_told_of_no_more(tmp_path, settings):
    made = Made(tmp_path, ECHO)
    settings('[later]\nenv = ["OTHER"]\n')

    before = made.go(env=SECRETS)
    (made.path.parent / "later").symlink_to(made.path)
    after = made.go(env=SECRETS)

    assert [warning["code"] for warning in before.of("aoi:warning")] == ["WRAP_SETTINGS_UNUSED"]
    assert after.of("aoi:warning") == []


def test_a_list_of_variables_that_is_nobodys_is_an_error(tmp_path, settings):
    settings('env = ["OTHER"]\n')

    done = Made(tmp_path, ECHO).go(env=SECRETS)

    assert (done.error["category"], done.error["code"]) == ("config", "WRAP_SETTINGS_INVALID")
