"""A kill in a round of tools costs nothing that was said, and repeats nothing that was done."""

import pytest

from tests.agent.session.kills import kill_and_resume


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_a_session_that_was_killed_in_rounds_of_tools_is_answered_and_repeats_no_effect(provider, tmp_path):
    result = kill_and_resume(tmp_path, 4, provider=provider)

    assert (result.answered, result.doubled, result.errors) == (4, 0, [])
