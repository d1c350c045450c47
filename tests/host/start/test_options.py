"""What a caller chooses is one value: its fields given as keywords, checked, and resolved without a manifest."""

import os

import pytest

from operable.gate.policy.rules import Policy
from operable.host.session.context import Limits
from operable.host.start.options import StartOptions, resolve_options, start_options
from operable.kernel.errors import Fail


def test_fields_that_are_given_replace_those_of_the_value_and_the_others_stay():
    given = start_options(StartOptions(mode="plan", label="demo"), {"mode": "edit"})

    assert (given.mode, given.label) == ("edit", "demo")
    assert start_options(None, {}) == StartOptions()


def test_a_field_that_does_not_exist_is_refused_by_name():
    with pytest.raises(Fail) as refused:
        start_options(None, {"workspace": ".", "wrkspace": ".", "modle": "x"})

    assert (refused.value.category, refused.value.code) == ("usage", "UNKNOWN_START_OPTION")
    assert refused.value.message == "start has no option modle, wrkspace"


def test_paths_and_rules_are_resolved_and_the_time_of_the_handshake_has_one_place(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    chosen = StartOptions(str(tmp_path / "link"), timeout=3.0, limits=Limits(quiet=7.0))

    resolved = resolve_options(chosen)

    assert resolved.workspace == os.path.realpath(tmp_path)
    assert isinstance(resolved.policy, Policy)
    assert (resolved.limits.handshake, resolved.limits.quiet) == (3.0, 7.0)


def test_a_workspace_that_is_not_a_folder_is_refused(tmp_path):
    with pytest.raises(Fail) as refused:
        resolve_options(StartOptions(str(tmp_path / "nowhere")))

    assert refused.value.code == "WORKSPACE_NOT_FOUND"
