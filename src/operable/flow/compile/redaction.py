"""What compiled output may show: values that are or may contain secrets are replaced by their digests, or left out."""

from operable.flow.canonical import canonical_digest, hash_object, hash_optional_text
from operable.flow.manifest.inheritance import Json


def shown_shell(payload: Json) -> Json:
    """A shell payload without its environment and its standard input."""
    return {
        "program": payload["program"],
        "args": payload["args"],
        "cwd": payload["cwd"],
        "env": None,
        "env_keys": sorted(payload["env"], key=lambda name: name.encode("utf-16-be", "surrogatepass")),
        "env_hash": canonical_digest(payload["env"]),
        "stdin": None,
        "stdin_hash": hash_optional_text(payload["stdin"]),
    }


def shown_identity(identity: Json) -> Json:
    """A declaration (or profile) without the subject's attributes and the provider's inputs."""
    return {
        **identity,
        "subject": _shown_subject(identity.get("subject")),
        "auth": _shown_auth(identity.get("auth")),
    }


def _shown_subject(subject: Json | None) -> Json | None:
    if subject is None:
        return None
    return {**subject, "attributes": None, "attributes_hash": hash_object(subject.get("attributes"))}


def _shown_auth(auth: Json | None) -> Json | None:
    return None if auth is None else {**auth, "provider_config": None, "inputs": None}


def shown_plan(plan: Json) -> Json:
    """A plan for the standalone target."""
    shown = {**plan, "identity": shown_identity(plan["identity"])}
    execution = plan["execution"]
    if execution["session_target"] == "shell":
        shown["execution"] = {**execution, "payload": shown_shell(execution["payload"])}
    if plan["authorization_proof"] is not None:
        shown["authorization_proof"] = {**plan["authorization_proof"], "proof": None}
    if plan["authorization"] is not None:
        shown["authorization"] = {**plan["authorization"], "provider_config": None}
    if plan["evidence"] is not None:
        shown["evidence"] = {**plan["evidence"], "provider_config": None}
    return shown


def shown_profiles(manifest: Json) -> Json:
    """The four arrays of profiles, those that are not empty."""
    shown: Json = {}
    if profiles := manifest.get("identity_profiles"):
        shown["identity_profiles"] = [
            {**shown_identity(profile), "provider_config": None} for profile in profiles
        ]
    if profiles := manifest.get("authorization_proof_profiles"):
        shown["authorization_proof_profiles"] = [
            {**profile, "proof": shown_proof_source(profile.get("proof"), both=False)} for profile in profiles
        ]
    for name in ("authorization_profiles", "evidence_profiles"):
        if profiles := manifest.get(name):
            shown[name] = [{**profile, "provider_config": None} for profile in profiles]
    return shown


def shown_proof_source(proof: Json | None, *, both: bool) -> Json | None:
    """Where a proof comes from, never what it is: the name of a variable or a file; `both` keeps both."""
    if proof is None:
        return None
    source = proof.get("value_from") or {}
    kept = {name: source[name] for name in ("env", "file") if source.get(name) is not None}
    if not both and len(kept) > 1:
        kept = {"env": kept["env"]}
    return {"value_from": kept or None}
