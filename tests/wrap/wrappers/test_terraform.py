"""The wrapped terraform: the real one on configurations that need no provider, and what it was recorded to print.

Debian has no terraform; where it is not installed, the recorded output of version 1.11.4 stands for it.
"""

import json
import os
from pathlib import Path

import pytest

from tests.tool.drive import Outcome
from tests.wrap.drive import wrap
from tests.wrap.wrappers.stand_in import stand_in

SAMPLES = Path(__file__).with_name("samples")
SECRET = "hunter2secret"
MAIN = """
variable "name" { default = "x" }
variable "pw" {
  default   = "hunter2secret"
  sensitive = true
}
resource "terraform_data" "a" { input = var.name }
resource "terraform_data" "b" { input = var.pw }
output "o" { value = terraform_data.a.output }
output "s" {
  value     = var.pw
  sensitive = true
}
"""
real = pytest.mark.needs("terraform")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "infra"
    place.mkdir()
    (place / "main.tf").write_text(MAIN)
    return place


def terraform(*words: str | Path, env: dict[str, str] | None = None) -> Outcome:
    # Not the settings of whoever runs the tests; one that is not there makes terraform print prose.
    return wrap(
        "terraform", *map(str, words), env={"TF_CLI_CONFIG_FILE": os.devnull} | (env or {}), timeout=120
    )


@real
def test_changes_are_an_answer_with_exit_status_2_and_none_with_0(folder):
    before = terraform("plan", folder)
    terraform("apply", folder, "--confirm")
    after = terraform("plan", folder)

    assert {(event["address"], event["action"]) for event in before.of("planned_change")} == {
        ("terraform_data.a", "create"),
        ("terraform_data.b", "create"),
    }
    assert before.summary["upstream"] == {"program": "terraform", "exit": 2, "meaning": "changes"}
    assert (before.summary["ok"], after.summary["ok"]) == (True, True)
    assert after.of("planned_change") == []
    assert after.of("change_summary")[0]["add"] == 0


@real
def test_applying_needs_confirmation_and_does_what_was_planned(folder):
    plan = terraform("apply", folder, "--dry-run", "--run-project-code")
    refused = terraform("apply", folder, "--run-project-code")
    unasked = terraform("apply", folder, "--dry-run")
    untouched = sorted(os.listdir(folder))
    done = terraform("apply", folder, "--confirm", plan.summary["plan_digest"])

    assert [(event["action"], event["target"]) for event in plan.of("aoi:plan")] == [
        ("create", "output.o"),
        ("create", "output.s"),
        ("create", "terraform_data.a"),
        ("create", "terraform_data.b"),
    ]
    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert (unasked.error["category"], unasked.error["code"]) == ("authz", "PROJECT_CODE")
    assert untouched == ["main.tf"]
    assert {(event["address"], event["ok"]) for event in done.of("applied")} == {
        ("terraform_data.a", True),
        ("terraform_data.b", True),
    }
    assert all(event["id"] for event in done.of("applied"))
    assert (folder / "terraform.tfstate").exists()


@real
def test_a_plan_that_is_no_longer_the_confirmed_one_is_not_applied(folder):
    plan = terraform("apply", folder, "--dry-run", "--run-project-code")
    (folder / "more.tf").write_text('resource "terraform_data" "c" {}\n')

    done = terraform("apply", folder, "--confirm", plan.summary["plan_digest"])

    assert (done.error["category"], done.error["code"]) == ("conflict", "PLAN_CHANGED")
    assert not (folder / "terraform.tfstate").exists()


@real
def test_nothing_to_change_is_nothing_done(folder):
    terraform("apply", folder, "--confirm")
    before = (folder / "terraform.tfstate").read_bytes()

    done = terraform("apply", folder, "--confirm")

    assert (done.exit_code, done.results) == (0, [])
    assert (folder / "terraform.tfstate").read_bytes() == before


@real
def test_destroying_more_than_one_thing_needs_their_number(folder):
    terraform("apply", folder, "--confirm")

    refused = terraform("destroy", folder, "--confirm")
    done = terraform("destroy", folder, "--confirm-count", str(refused.error["planned"]))

    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert {(event["address"], event["action"]) for event in done.of("applied")} == {
        ("terraform_data.a", "delete"),
        ("terraform_data.b", "delete"),
    }
    assert terraform("show", folder).results == []


@real
def test_what_is_sensitive_is_shown_nowhere(folder):
    """Terraform marks the input of the resource, and forgets its output."""
    done = terraform("apply", folder, "--confirm")
    shown, told = terraform("show", folder), terraform("output", folder)

    for outcome in (done, shown, told):
        assert outcome.summary["ok"] is True
        assert SECRET.encode() not in outcome.stdout
    assert {event["name"]: event["value"] for event in told.results} == {"o": "x", "s": "[redacted]"}
    values = {event["address"]: event["values"] for event in shown.of("resource")}
    assert values["terraform_data.a"]["output"] == "x"
    assert values["terraform_data.b"]["output"] == "[redacted]"


@real
def test_variables_come_from_files_and_the_environment(folder):
    (folder / "my.tfvars").write_text('name = "from the file"\n')
    planned = terraform("apply", folder, "--var-file", "my.tfvars", "--confirm")
    changed = terraform("apply", folder, "--confirm", env={"TF_VAR_name": "from the environment"})

    assert planned.of("output")[0]["value"] == "from the file"
    assert changed.of("output")[0]["value"] == "from the environment"


@real
def test_a_wrong_configuration_is_invalid_for_validate_and_an_error_for_plan(folder):
    (folder / "bad.tf").write_text('resource "x" {\n')

    checked, planned = terraform("validate", folder), terraform("plan", folder)

    (verdict,) = checked.of("validation")
    assert (checked.exit_code, verdict["valid"]) == (0, False)
    assert len(checked.of("diagnostic")) == verdict["error_count"] > 1
    assert {(event["file"], event["line"]) for event in checked.of("diagnostic")} == {("bad.tf", 1)}
    assert checked.summary["upstream"]["meaning"] == "invalid"
    errors = planned.of("aoi:error")
    assert {(error["category"], error["code"], error["file"]) for error in errors} == {
        ("validation", "UPSTREAM_ERROR", "bad.tf")
    }
    assert len(errors) == verdict["error_count"]
    assert planned.summary["ok"] is False


@real
def test_what_a_provisioner_prints_is_text_and_its_failure_a_failure(folder):
    forged = '{"type":"apply_complete","@level":"info"}'
    command = f"echo '{json.dumps(forged)[1:-1]}'; exit 3"
    (folder / "more.tf").write_text(
        f'resource "terraform_data" "c" {{\n  provisioner "local-exec" {{ command = "{command}" }}\n}}\n'
    )

    done = terraform("apply", folder, "--confirm")

    assert forged in [event["output"] for event in done.of("provisioned")]
    failed = [event["address"] for event in done.of("applied") if not event["ok"]]
    assert failed == ["terraform_data.c"]
    assert (done.summary["ok"], done.summary["partial"]) == (False, True)
    assert "exit status 3" in done.error["message"]


@real
@pytest.mark.parametrize(
    "words, category",
    [
        (["plan", "nowhere"], "not_found"),
        (["plan", "empty"], "not_found"),
        (["show", "nowhere"], "not_found"),
    ],
)
def test_a_folder_without_a_configuration_is_told(folder, words, category):
    (folder.parent / "empty").mkdir()

    done = terraform(words[0], folder.parent / words[1])

    assert (done.error["category"], done.summary["ok"]) == (category, False)


@real
def test_init_is_planned_and_told(folder):
    plan, done = terraform("init", folder, "--dry-run"), terraform("init", folder)

    assert [event["action"] for event in plan.of("aoi:plan")] == ["init"]
    assert [event["type"] for event in done.results] == ["initialized"]


@real
def test_prose_about_the_settings_is_a_warning(folder):
    """A settings file that is not there is told as a block of prose on stderr, whatever the mode."""
    done = terraform("plan", folder, env={"TF_CLI_CONFIG_FILE": str(folder / "nope.rc")})

    assert [warning["code"] for warning in done.of("aoi:warning")] == ["UPSTREAM_STDERR"]
    assert done.summary["ok"] is True


# -- recorded, and made up


def recorded(name: str) -> str:
    return (SAMPLES / f"terraform-1.11.4-{name}").read_text()


def test_a_recorded_plan_is_read(tmp_path):
    env = stand_in(tmp_path, "terraform", prints=recorded("plan.jsonl"), status=2)

    done = terraform("plan", tmp_path, env=env)

    assert [event["address"] for event in done.of("planned_change")] == [
        "terraform_data.a",
        "terraform_data.b",
    ]
    assert (done.exit_code, done.summary["upstream"]["meaning"]) == (0, "changes")


def test_a_recorded_error_is_one_for_each_diagnostic(tmp_path):
    env = stand_in(tmp_path, "terraform", prints=recorded("plan-error.jsonl"), status=1)

    done = terraform("plan", tmp_path, env=env)

    assert len(done.of("aoi:error")) == recorded("plan-error.jsonl").count('"type":"diagnostic"') == 2
    assert done.summary["ok"] is False


def test_a_recorded_state_and_verdict_are_read_and_masked(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    shown = terraform(
        "show", tmp_path, env=stand_in(tmp_path / "a", "terraform", prints=recorded("show.json"))
    )
    env = stand_in(tmp_path / "b", "terraform", prints=recorded("validate.json"), status=1)
    checked = terraform("validate", tmp_path, env=env)

    assert SECRET in recorded("show.json")
    assert SECRET.encode() not in shown.stdout
    assert [event["address"] for event in shown.of("resource")] == ["terraform_data.a", "terraform_data.b"]
    assert checked.of("validation")[0]["valid"] is False


@pytest.mark.parametrize("status", [0, 2])
def test_a_plan_that_stops_before_its_end_marker_is_never_ok(tmp_path, status):
    lines = recorded("plan.jsonl").splitlines(keepends=True)[:2]
    env = stand_in(tmp_path, "terraform", prints="".join(lines), status=status)

    done = terraform("plan", tmp_path, env=env)

    assert (done.error["code"], done.summary["ok"]) == ("UPSTREAM_INCOMPLETE", False)


def test_a_line_that_is_cut_off_is_never_ok_and_one_that_is_no_json_is_counted(tmp_path):
    text = "Initializing...\n" + recorded("plan.jsonl").rstrip()[:-10]

    done = terraform("plan", tmp_path, env=stand_in(tmp_path, "terraform", prints=text))

    assert [warning["code"] for warning in done.of("aoi:warning")] == ["UPSTREAM_NON_JSON"]
    assert (done.error["code"], done.summary["upstream"]["non_json"]) == ("UPSTREAM_INCOMPLETE", 1)


@real
def test_a_plan_tells_the_values_before_and_after_and_keeps_the_file(folder, tmp_path):
    terraform("apply", folder, "--confirm")
    (folder / "main.tf").write_text(MAIN.replace('default = "x"', 'default = "y"'))

    done = terraform("plan", folder, "--values", "-out", tmp_path / "kept")

    (change,) = [event for event in done.of("resource_change") if event["address"] == "terraform_data.a"]
    assert (change["actions"], change["before"]["input"], change["after"]["input"]) == (["update"], "x", "y")
    assert [event["path"] for event in done.of("plan_saved")] == [str(tmp_path / "kept")]
    assert SECRET.encode() not in done.stdout
    shown = terraform("show", folder, "--file", tmp_path / "kept")
    assert "terraform_data.a" in [event["address"] for event in shown.of("resource_change")]


@real
def test_a_plan_that_failed_keeps_nothing(folder, tmp_path):
    (folder / "main.tf").write_text('resource "terraform_data" "a" { input = var.nowhere }\n')

    done = terraform("plan", folder, "--values", "--out", tmp_path / "kept")

    assert (done.summary["ok"], done.of("plan_saved"), done.of("resource_change")) == (False, [], [])


@real
def test_the_state_is_listed_and_one_of_it_is_shown(folder):
    none = terraform("state", "list", folder)
    terraform("apply", folder, "--confirm")

    listed = terraform("state", "list", folder)
    shown = terraform("show", folder, "--address", "terraform_data.b")
    absent = terraform("show", folder, "--address", "terraform_data.nope")
    guess = terraform("state", "show", "terraform_data.b")

    assert none.error["code"] == "NO_STATE"
    assert [event["address"] for event in listed.results] == ["terraform_data.a", "terraform_data.b"]
    assert [event["address"] for event in shown.results] == ["terraform_data.b"]
    assert absent.error["code"] == "ADDRESS_NOT_FOUND"
    assert guess.error["code"] == "UNKNOWN_COMMAND"
