import pytest

from operable.manifest import Secrets
from tests.manifest.samples import SECRETS, errors, loaded, problems, warnings


def entry(**changes: object) -> dict[str, object]:
    return {"secrets": [{**SECRETS["secrets"][0], **changes}]}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "key", ["value", "plaintext", "ciphertext", "secret", "data", "key", "token", "Token"]
)
def test_a_key_that_could_hold_the_value_is_refused_and_the_value_is_not_repeated(key, strict):
    found = problems("secrets", entry(**{key: "hunter2hunter2"}), strict=strict)

    assert [(each.rule, each.key) for each in found] == [("SECRET_VALUE", f"secrets.0.{key}")]
    assert "hunter2" not in str(found[0])


def test_a_value_hidden_in_metadata_is_refused_too_but_not_an_everyday_word():
    assert errors("secrets", entry(metadata={"bindings": {"value": "x"}})) == [
        ("SECRET_VALUE", "secrets.0.metadata.bindings.value")
    ]
    assert errors("secrets", entry(metadata={"team": {"key": "OPS"}})) == []


def test_slugs_are_unique_and_have_their_form():
    one = SECRETS["secrets"][0]

    assert errors("secrets", {"secrets": [one, one]}) == [("ID_TWICE", "secrets.1.slug")]
    assert errors("secrets", entry(slug="API_KEY")) == [("FIELD_FORM", "secrets.0.slug")]


@pytest.mark.parametrize("grant", [{}, {"role": "a", "tool": "b"}])
def test_a_grant_names_exactly_one_grantee(grant):
    assert errors("secrets", entry(access={"reveal": [grant]})) == [
        ("FIELD_RANGE", "secrets.0.access.reveal.0")
    ]


def test_grants_and_exposures_of_unknown_kinds_are_ignored_with_a_warning():
    data = entry(access={"bind": [{"planet": "mars"}]}, exposures=[{"kind": "clipboard", "x": 1}])

    assert sorted(rule for rule, _ in warnings("secrets", data)) == ["EXPOSURE_UNKNOWN", "GRANT_UNKNOWN"]
    [secret] = loaded("secrets", data).as_(Secrets).secrets
    assert secret.access.bind[0].role is None
    assert secret.exposures[0].kind == "clipboard"


@pytest.mark.parametrize(
    "exposure, expected",
    [
        ({"kind": "env", "name": "A"}, ("FIELD_MISSING", "field")),
        ({"kind": "env", "name": "a-b", "field": "value"}, ("FIELD_FORM", "name")),
        ({"kind": "file", "path": "/x", "mode": 600}, ("FIELD_RANGE", "mode")),
        ({"kind": "egress-substitute", "placeholderName": "A"}, ("FIELD_MISSING", "allowedByDefault")),
    ],
)
def test_an_exposure_has_the_fields_of_its_kind(exposure, expected):
    rule, field = expected

    assert errors("secrets", entry(exposures=[exposure])) == [(rule, f"secrets.0.exposures.0.{field}")]


def test_a_file_is_private_unless_the_manifest_says_otherwise():
    [secret] = loaded("secrets", entry(exposures=[{"kind": "file", "path": "~/.key"}])).as_(Secrets).secrets

    assert secret.exposures[0].mode == 0o600


def test_the_variable_of_a_secret_is_exposed_bound_or_made_from_its_slug():
    exposed = loaded("secrets").as_(Secrets).by_slug("acme/api-key")
    bound = (
        loaded("secrets", entry(exposures=[], metadata={"bindings": {"env": ["X"]}})).as_(Secrets).secrets[0]
    )
    plain = loaded("secrets", entry(exposures=[], slug="gh-token")).as_(Secrets).secrets[0]

    assert exposed is not None
    assert (exposed.env_names, bound.env_names, plain.env_names) == (("ACME_API_KEY",), ("X",), ("GH_TOKEN",))
    assert loaded("secrets").as_(Secrets).by_slug("nobody") is None


def test_a_backend_in_the_manifest_is_a_warning():
    assert warnings("secrets", entry(backend="vault://kv/x")) == [("SECRET_BACKEND", "secrets.0.backend")]


@pytest.mark.parametrize("retention, valid", [("P7Y", True), ("90d", True), ("forever", False)])
def test_retention_is_a_length_of_time(retention, valid):
    assert (errors("secrets", entry(audit={"retention": retention})) == []) is valid
