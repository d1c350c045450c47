"""`operable agent list`, `show` and `validate`: looking at manifests runs nothing."""

from operable.manifest import render
from tests.host.agents import manifest
from tests.requirement import requirement


@requirement("aip45:lifecycle:discover")
def test_agents_of_the_project_the_user_and_the_bundled_ones_are_listed_and_nothing_runs(scene):
    own, theirs = scene.user("own"), scene.project("theirs")

    found = {each["name"]: each for each in scene("list").results}

    assert (found["own"]["origin"], found["own"]["trusted"]) == ("user", True)
    assert (found["theirs"]["origin"], found["theirs"]["trusted"]) == ("project", False)
    assert {"claude-code", "codex", "operable-agent"} <= found.keys()
    assert not (own / "calls").exists()
    assert not (theirs / "calls").exists()


def test_the_list_comes_in_pages(scene):
    page = scene("list", "--limit", "3")

    rest = scene("list", "--cursor", page.summary["next_cursor"])

    assert [*page.results, *rest.results] == scene("list").results


def test_a_manifest_that_cannot_be_read_is_listed_with_its_problem(scene):
    folder = scene.project("broken")
    (folder / "AGENT-CLI.md").write_text("no frontmatter")

    found = scene("list", "--origin", "project").results[0]

    assert found["name"] == "broken"
    assert found["problem"]
    assert scene("list", "--workspace", "nowhere").error["code"] == "WORKSPACE_NOT_FOUND"


def test_a_manifest_is_shown_with_what_can_be_chosen(scene):
    folder = scene.user(
        modes=[{"id": "plan", "description": "Plans only."}],
        options=[
            {"id": "depth", "type": "enum", "enum": ["low", "high"], "bin_args_template": ["-d", "{value}"]}
        ],
        models={"allowed": ["small", "large"]},
        continuation={"default": "none", "supported": ["transcript", "none"]},
    )

    found = scene("show", "scripted").of("agent_details")[0]

    assert found["modes"] == [{"id": "plan", "description": "Plans only."}]
    assert (found["options"][0]["kind"], found["options"][0]["choices"]) == ("enum", ["low", "high"])
    assert (found["models"], found["continuation"]) == (["small", "large"], ["none", "transcript"])
    assert found["installed"] == str(folder / "scripted")
    assert (found["sandbox"], found["trusted"], found["digest"]) == ("local", True, None)
    assert not (folder / "calls").exists()


def test_people_are_shown_what_can_be_chosen_by_the_option_that_takes_it(scene):
    scene.user(
        modes=[{"id": "plan", "description": "Plans\x1b[2J only."}, {"id": "go"}],
        options=[
            {"id": "depth", "type": "enum", "enum": ["low", "high"], "bin_args_template": ["-d", "{value}"]}
        ],
        models={"allowed": ["small"]},
    )

    shown = scene("show", "scripted", output=None).stdout.decode().partition("\n\n")[2]

    assert shown == (
        "--mode:\n  plan  Plans·[2J only.\n  go\n\n--option:\n  depth=VALUE  (low|high)\n\n--model:\n  small\n"
    )


def test_an_unknown_agent_is_an_error_with_what_was_perhaps_meant(scene):
    outcome = scene("show", "claude-cod")

    assert (outcome.exit_code, outcome.error["code"]) == (64, "UNKNOWN_AGENT")
    assert outcome.error["near"] == ["claude-code"]


def test_every_problem_of_a_manifest_is_told_with_its_line(scene):
    found = manifest(scene.work)
    wrong = {**found, "protocol": "smoke-signals", "bin": "a b", "surprise": 1}
    (scene.work / "AGENT-CLI.md").write_text(render(wrong))

    outcome = scene("validate", "AGENT-CLI.md")

    assert outcome.exit_code == 65
    problems = outcome.of("manifest_problem")
    assert {"PROTOCOL_UNKNOWN"} <= {problem["rule"] for problem in problems}
    assert {"bin", "surprise"} <= {problem["key"] for problem in problems}
    assert all(problem["line"] > 1 for problem in problems if problem["key"])
    assert outcome.of("manifest_verdict")[0]["ok"] is False


def test_tolerant_validation_takes_extensions_with_a_warning(scene):
    folder = scene.work / "scripted"
    folder.mkdir()
    (folder / "AGENT-CLI.md").write_text(render({**manifest(folder), "surprise": 1}))

    assert scene("validate", "scripted").exit_code == 65
    tolerant = scene("validate", "scripted", "--tolerant")

    verdict = tolerant.of("manifest_verdict")[0]
    assert (tolerant.exit_code, verdict["ok"], verdict["warnings"]) == (0, True, 1)


def test_a_file_that_is_missing_does_not_keep_the_others_from_being_judged(scene):
    folder = scene.project()

    outcome = scene("validate", "nowhere.md", str(folder))

    assert outcome.exit_code == 65
    assert outcome.of("manifest_verdict")[0]["ok"] is True
    assert outcome.error["code"] == "MANIFEST_NOT_FOUND"
