"""`operable init app`."""

from tests.cli.drive import operable


def test_a_dry_run_writes_nothing_and_a_run_writes_a_package_that_conforms(tmp_path):
    env = {"OPERABLE_HOME": str(tmp_path / "home")}
    (plan,) = operable("init", "app", "notes", "--to", "apps", "--dry-run", cwd=tmp_path, env=env).of(
        "aoi:plan"
    )
    assert plan["target"] == "apps/notes"
    assert not (tmp_path / "apps").exists()
    files = operable("init", "app", "notes", "--to", "apps", cwd=tmp_path, env=env).results
    assert "apps/notes/APP.md" in [each["path"] for each in files]
    assert operable("app", "validate", "apps/notes", cwd=tmp_path, env=env).exit_code == 0
    again = operable("init", "app", "notes", "--to", "apps", cwd=tmp_path, env=env)
    assert (again.error["code"], again.exit_code) == ("FILE_EXISTS", 73)
