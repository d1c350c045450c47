"""Executions for tests: an identity with a token, an approval, and what a gate says that refuses."""

import json

import pytest

from operable.flow.approve import local_approvals
from operable.flow.errors import FlowError
from operable.flow.manifest.selection import select
from operable.flow.run.caller import Caller, bind, content_of
from operable.flow.run.executor import execute
from tests.flow.callers import ME, script
from tests.flow.manifests import manifest

CANARY = "zebra-quilt-ninety-one"


def bearer(kind="env", **target):
    """A task's identity with a token from the variable SECRET, and its profile."""
    binding = {"source": "credentials.access_token.value", "target": {"kind": kind, **target}}
    auth = {"mode": "service", "required": True, "provider_config": {"token_env": "SECRET"}}
    profile = {
        "id": "i",
        "provider": "env-bearer",
        "auth": auth,
        "trust": {"level": "restricted"},
        "presentation": {"bindings": [binding]},
    }
    return {"identity_profiles": [profile]}


def refused(*arguments, **options):
    with pytest.raises(FlowError) as caught:
        execute(*arguments, **options)
    return caught.value


def approve(by: Caller, value, **options):
    selected = select(value, "a")
    bound = bind(selected, by)
    return local_approvals.grant(
        by.approvals,
        selected,
        bound.binding,
        content=content_of(selected, bound, by),
        approver=ME,
        believing=by.believing(),
        **options,
    )


def minted(url, **task):
    """A task with a Stripe key that is made for it, and given back after it."""
    config = {
        "key_strategy": "dynamic",
        "account_mode": "test",
        "api_base": url,
        "master_key_source": {"env": "STRIPE"},
        "scope_permissions": {"s": {"charges": "read"}},
    }
    profile = {
        "id": "i",
        "provider": "stripe-api-key",
        "auth": {"mode": "service"},
        "provider_config": config,
    }
    return manifest(script("true", identity={"ref": "i", "scope": "s"}, **task), identity_profiles=[profile])


def half_broken(asked):
    """A key can be made, and not be deleted."""
    key = {"id": "k1", "secret": "rk_test_zebraquiltninetyone"}
    return (200, {}, json.dumps(key).encode()) if asked.method == "POST" else (500, {}, b"{}")
