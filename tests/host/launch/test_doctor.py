import pytest

from operable.host.launch.doctor import doctor, mend
from operable.manifest.blocks import Auth, AuthState, CmdStep, Install, Login, PromptStep
from tests.host.launch.making import Somebody, Vault, agent, launch, program

VENDORED = Install(method="vendored", path="vendor/agent")


def looked(work, **fields):
    return {each.name: each for each in doctor(work, **fields)}


def statuses(checks):
    return {name: each.status for name, each in checks.items()}


def test_all_is_well(tmp_path):
    program(tmp_path / "bin" / "agent")
    checks = looked(
        launch(tmp_path, agent(), tmp_path / "bin", store=Vault(key="x")),
        sandbox=lambda: None,
        secrets=["key"],
    )
    assert statuses(checks) == dict.fromkeys(
        ("installed", "version", "setup", "auth", "sandbox", "rights", "secrets"), "ok"
    )
    assert all(each.fix is None for each in checks.values())


def test_an_agent_without_a_sandbox_is_said_to_have_all_rights_and_not_to_be_well(tmp_path):
    program(tmp_path / "bin" / "agent")
    checks = looked(launch(tmp_path, agent(), tmp_path / "bin"), sandbox=lambda: None, confines=False)

    assert (checks["sandbox"].status, checks["sandbox"].fix) == ("open", None)
    assert checks["sandbox"].message == "no sandbox: runs with all your rights"


def test_what_is_not_installed_cannot_be_judged_further(tmp_path):
    checks = looked(launch(tmp_path, agent(install=(VENDORED,))))
    assert statuses(checks) == {
        "installed": "failed",
        "version": "skipped",
        "setup": "skipped",
        "auth": "skipped",
        "rights": "open",
    }
    assert checks["installed"].fix.command == "operable agent install agent"


def test_every_fault_is_found_at_once_with_its_remedy(tmp_path):
    program(tmp_path / "bin" / "agent", "echo 9.0.0")
    manifest = agent(
        setup=(PromptStep(id="team", prompt="?"),),
        auth=Auth(login=Login(cmd="agent login", interactive=True)),
    )
    work = launch(tmp_path, manifest, tmp_path / "bin", store=Vault())
    checks = looked(work, sandbox=lambda: "bwrap is not installed", secrets=["gh-token"])
    assert statuses(checks) == {
        "installed": "ok",
        "rights": "open",
        **dict.fromkeys(("version", "setup", "auth", "sandbox", "secrets"), "failed"),
    }
    assert checks["rights"].message == (
        "before its session, with your rights: install, setup, login; version check: without effects"
    )
    fixes = {name: (each.fix.action, each.fix.run is not None) for name, each in checks.items() if each.fix}
    assert fixes == {
        "version": ("install", True),
        "setup": ("setup", False),
        "auth": ("login", False),
        "sandbox": ("sandbox", False),
        "secrets": ("secrets", False),
    }
    assert checks["secrets"].message == "missing: gh-token"


def test_looking_changes_nothing(tmp_path):
    program(tmp_path / "vendor" / "agent")
    work = launch(tmp_path, agent(install=(VENDORED,), setup=(CmdStep(id="a", cmd="touch ran"),)))
    list(doctor(work))
    assert work.installation().locate() is None
    assert not (tmp_path / "workspace" / "ran").exists()


def test_mending_does_one_thing_after_the_other(tmp_path):
    program(tmp_path / "vendor" / "agent")
    manifest = agent(
        install=(VENDORED,),
        setup=(CmdStep(id="a", cmd="touch ran"),),
        auth=Auth(login=Login(cmd="touch logged-in")),
    )
    work = launch(tmp_path, manifest)
    left = {each.name: each.status for each in mend(lambda: doctor(work))}
    assert left == {**dict.fromkeys(("installed", "version", "setup", "auth"), "ok"), "rights": "open"}
    assert (tmp_path / "workspace" / "logged-in").exists()


def test_what_cannot_be_mended_is_tried_once_and_told(tmp_path):
    work = launch(tmp_path, agent(install=(Install(method="scoop", package="x"),)))
    checks = list(mend(lambda: doctor(work)))
    assert (checks[0].name, checks[0].status) == ("install", "failed")
    assert "scoop" in checks[0].message
    assert [each.status for each in checks[1:]] == ["failed", "skipped", "skipped", "skipped", "open"]


def test_with_a_person_everything_can_be_mended(tmp_path):
    program(tmp_path / "bin" / "agent")
    manifest = agent(setup=(PromptStep(id="team", prompt="?"),))
    work = launch(tmp_path, manifest, tmp_path / "bin", person=Somebody("red"))
    assert [each.status for each in mend(lambda: doctor(work))] == [*["ok"] * 4, "open"]


@pytest.mark.parametrize("given, status", [({}, "failed"), ({"KEY": "x"}, "ok")])
def test_a_login_by_variable_is_looked_at(tmp_path, given, status):
    program(tmp_path / "bin" / "agent")
    manifest = agent(auth=Auth(state=AuthState(env=("KEY",))))
    assert looked(launch(tmp_path, manifest, tmp_path / "bin", secrets=given))["auth"].status == status


def test_an_agent_without_a_login_of_its_own_wants_one_of_the_keys_of_its_providers(tmp_path):
    program(tmp_path / "bin" / "agent")
    bare = launch(tmp_path, agent(), tmp_path / "bin")
    keyed = launch(tmp_path, agent(), tmp_path / "bin", env={**bare.env, "B_KEY": "x"})

    without, given = (looked(work, keys=["A_KEY", "B_KEY"])["auth"] for work in (bare, keyed))

    assert (without.status, "A_KEY, B_KEY" in without.message) == ("skipped", True)
    assert (given.status, given.message) == ("ok", "B_KEY is set")
