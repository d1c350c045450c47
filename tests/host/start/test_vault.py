import pickle
from pathlib import Path

import pytest

from operable.host.secret_backend import backend
from operable.host.start.vault import Actor, SecretUse, SecretValue, Vault
from operable.kernel import catalogue
from operable.kernel.errors import Fail
from tests.host.inventory import inventory
from tests.requirement import requirement

VALUE = "hunter2-hunter2"
OWNER = Actor("ada", owner=True)


def vault(*entries, actor=OWNER, **options) -> tuple[Vault, list[SecretUse]]:
    uses: list[SecretUse] = []
    return Vault(inventory(*entries), actor, on_use=uses.append, **options), uses


@requirement("aip-substrate:4.8:never-shown")
def test_a_secret_does_not_show_itself():
    secret = SecretValue("gh-token", VALUE)

    shown = [repr(secret), str(secret), f"{secret}", f"{secret:>40}", repr([secret])]

    assert all(VALUE not in text for text in shown)
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    assert secret.reveal() == VALUE


def test_fields_of_structured_secrets_are_found_or_named():
    secret = SecretValue("login", '{"accessToken": "a", "expiresAt": 5}')

    assert secret.reveal("accessToken") == "a"
    for field in ("refreshToken", "expiresAt"):
        with pytest.raises(Fail) as caught:
            secret.reveal(field)
        assert caught.value.code == "SECRET_FIELD_MISSING"
    with pytest.raises(Fail):
        SecretValue("plain", VALUE).reveal("x")


@requirement("aip-substrate:4.8:audit")
def test_a_use_is_told_with_its_grant_and_without_its_value(monkeypatch):
    monkeypatch.setenv("GH_TOKEN", VALUE)
    kept, uses = vault(
        {"slug": "gh-token", "access": {"reveal": [{"role": "ops"}, {"userId": "bob"}]}},
        actor=Actor("ada", roles=frozenset({"ops"})),
        context={"session": "s1"},
    )

    assert kept.reveal("gh-token", "session").reveal() == VALUE
    assert uses == [SecretUse("secret.reveal", "gh-token", "ada", "session", "role:ops", {"session": "s1"})]
    assert VALUE not in repr(uses)
    assert uses[0].as_dict()["granted_by"] == "role:ops"


@requirement("aip-substrate:4.8:access-before-fetch")
@pytest.mark.parametrize(
    "grants, actor, allowed",
    [
        ([], OWNER, True),
        ([], Actor("ada"), False),
        ([{"role": "ops"}], OWNER, False),
        ([{"userId": "ada"}], Actor("ada"), True),
        ([{"cap": "cap://deploy"}], Actor("ada", caps=frozenset({"cap://deploy"})), True),
        ([{"tool": "gh"}], Actor("ada", tool="gh"), True),
        ([{"workflow": "release"}], Actor("ada", workflow="release"), True),
        ([{"workflow": "release"}], Actor("ada"), False),
        ([{"planet": "mars"}], Actor("ada"), False),
    ],
)
def test_any_one_grant_suffices_and_no_grant_is_for_the_owner_only(monkeypatch, grants, actor, allowed):
    monkeypatch.setenv("GH_TOKEN", VALUE)
    kept, uses = vault({"slug": "gh-token", "access": {"reveal": grants}}, actor=actor)

    if allowed:
        assert kept.reveal("gh-token", "session").reveal() == VALUE
    else:
        with pytest.raises(Fail) as caught:
            kept.reveal("gh-token", "session")
        assert caught.value.code == "SECRET_DENIED"
    assert [use.action for use in uses] == ["secret.reveal" if allowed else "secret.reveal.denied"]


@requirement("aip-substrate:4.8:access-before-fetch")
def test_nothing_is_fetched_for_somebody_who_may_not_have_it(tmp_path: Path):
    # A named pipe that nobody writes to: reading it would block, or fail as unsafe.
    kept, _ = vault({"slug": "gh-token", "backend": f"file://{tmp_path}"}, actor=Actor("eve"))

    with pytest.raises(Fail) as caught:
        kept.reveal("gh-token", "session")
    assert caught.value.code == "SECRET_DENIED"


def test_backends_of_the_host_are_asked_in_their_order(monkeypatch):
    monkeypatch.delenv("GH_TOKEN", raising=False)
    backend("file").write(backend("file").locate("gh-token"), VALUE)  # type: ignore[misc]
    kept, _ = vault({"slug": "gh-token"}, backends=("environment", "file"))

    assert kept.reveal("gh-token", "session").reveal() == VALUE


@pytest.mark.parametrize(
    "entry, code",
    [
        ({"slug": "other-one"}, "SECRET_UNKNOWN"),
        ({"slug": "gh-token"}, "SECRET_MISSING"),
        ({"slug": "gh-token", "backend": "castle://x"}, "UNKNOWN_SECRET_BACKEND"),
        ({"slug": "gh-token", "backend": "vault://environment"}, "SECRET_BACKEND_INVALID"),
    ],
)
def test_a_secret_that_cannot_be_had_is_explained(monkeypatch, entry, code):
    monkeypatch.delenv("GH_TOKEN", raising=False)
    kept, uses = vault(entry)

    with pytest.raises(Fail) as caught:
        kept.reveal("gh-token", "session")
    assert caught.value.code == code
    assert uses == []


@pytest.mark.parametrize(
    "uri", ["vault://environment/OTHER_NAME", "environment://OTHER_NAME", "env://OTHER_NAME"]
)
def test_the_inventory_can_say_where_a_secret_is(monkeypatch, uri):
    monkeypatch.setenv("OTHER_NAME", VALUE)

    assert vault({"slug": "gh-token", "backend": uri})[0].reveal("gh-token", "x").reveal() == VALUE


@pytest.mark.parametrize(
    "name", catalogue.names(str(Path(__file__).parents[3] / "src/operable/host/secrets"))
)
def test_every_backend_has_its_name_and_a_place_for_a_slug(name):
    found = backend(name)

    assert found.name == name
    assert "gh" in found.locate("team/gh-token").lower()
    assert found.missing() is None or isinstance(found.missing(), str)
