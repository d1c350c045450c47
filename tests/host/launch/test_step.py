import os

import pytest

from operable.host.launch.readiness import readiness
from operable.host.launch.step import OWN, SecretStore
from operable.host.start.vault import Actor, SecretUse, Vault
from operable.kernel.errors import Fail
from operable.manifest.blocks import CmdStep, Persist, PromptStep
from operable.manifest.kinds.secrets import Access, Grant, Secret, Secrets
from tests.host.launch.making import Somebody, agent, launch, program


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "operable"))
    return tmp_path / "operable" / "state" / "secrets"


def vault(*entries, backends=("environment", "file"), actor=None, uses=None) -> Vault:
    on_use = (lambda _: None) if uses is None else uses.append
    return Vault(Secrets(secrets=entries), actor or Actor("me", owner=True), backends, on_use)


def entry(slug="gh-token", **fields) -> Secret:
    return Secret(slug=slug, name="A", description="A", **fields)


def test_a_declared_secret_goes_where_the_vault_finds_it(home):
    uses: list[SecretUse] = []
    kept = vault(entry(), uses=uses)
    store = SecretStore(kept)
    assert store.get("gh-token") is None
    store.store("gh-token", "s3cret")
    assert store.get("gh-token") == "s3cret"
    assert kept.reveal("gh-token", "start").reveal() == "s3cret"
    assert (home / "gh-token").stat().st_mode & 0o777 == 0o600
    assert [use.action for use in uses] == ["secret.rotate", "secret.reveal", "secret.reveal"]


def test_a_secret_that_nobody_declared_is_not_written(home):
    for store in (SecretStore(), SecretStore(vault(entry()))):
        with pytest.raises(Fail) as caught:
            store.store("somebody-elses", "x")
        assert caught.value.code == "SECRET_UNKNOWN"
        assert store.get("somebody-elses") is None
    assert not home.exists() or os.listdir(home) == []


def test_who_may_not_change_a_secret_does_not():
    uses: list[SecretUse] = []
    access = Access(rotate=(Grant(role="ops"),))
    store = SecretStore(vault(entry(access=access), uses=uses))
    with pytest.raises(Fail) as caught:
        store.store("gh-token", "x")
    assert (caught.value.code, uses[0].action) == ("SECRET_DENIED", "secret.rotate.denied")
    allowed = Actor("me", roles=frozenset({"ops"}))
    SecretStore(vault(entry(access=access), actor=allowed, uses=uses)).store("gh-token", "x")
    assert uses[1].granted_by == "role:ops"


def test_who_may_not_read_a_secret_is_told():
    store = SecretStore(vault(entry(access=Access(reveal=(Grant(role="ops"),)))))
    with pytest.raises(Fail) as caught:
        store.get("gh-token")
    assert caught.value.code == "SECRET_DENIED"


def test_a_place_that_cannot_be_written_to_is_named():
    with pytest.raises(Fail) as caught:
        SecretStore(vault(entry(), backends=("environment",))).store("gh-token", "x")
    assert caught.value.code == "SECRET_NOT_WRITABLE"


def test_a_secret_with_a_place_of_its_own_is_kept_there(tmp_path):
    store = SecretStore(vault(entry(backend=f"file://{tmp_path}/elsewhere"), backends=("environment",)))
    store.store("gh-token", "x")
    assert (tmp_path / "elsewhere").read_text() == "x"
    assert store.get("gh-token") == "x"


def test_what_setup_keeps_of_its_own_needs_no_inventory(home):
    store = SecretStore()
    store.store(f"{OWN}s1", "value")
    assert SecretStore().get(f"{OWN}s1") == "value"


def test_the_provider_of_a_secret_stands_in_its_entry():
    declared = {"authorization_url": "https://a.example", "token_url": "https://t.example", "client_id": "me"}
    store = SecretStore(vault(entry(metadata={"oauth": declared}), entry("plain")))
    client = store.client("gh-token")
    assert client is not None
    assert client.client_id == "me"
    assert (store.client("plain"), store.client("unknown"), SecretStore().client("gh-token")) == (
        None,
        None,
        None,
    )


def test_a_launch_has_a_store_without_being_given_one(tmp_path):
    program(tmp_path / "bin" / "agent")
    manifest = agent(setup=(PromptStep(id="a", prompt="?", persist=Persist(env="COLOUR")),))
    readiness(launch(tmp_path, manifest, tmp_path / "bin", person=Somebody("green")))
    assert readiness(launch(tmp_path, manifest, tmp_path / "bin")).env["COLOUR"] == "green"


def test_a_manifest_cannot_read_or_write_what_belongs_to_another(tmp_path):
    SecretStore().store(f"{OWN}s0", "another manifest's")
    steps = (
        CmdStep(id="reads", cmd=f"echo ${{secrets.{OWN}s0}}"),
        CmdStep(id="writes", cmd="echo x", persist=Persist(secret_slug=f"{OWN}s0")),
    )
    for step in steps:
        with pytest.raises(Fail) as caught:
            launch(tmp_path, agent(setup=(step,))).setup(None).run()
        assert caught.value.details["step"] == step.id
    assert SecretStore().get(f"{OWN}s0") == "another manifest's"
