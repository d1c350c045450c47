"""Who asks for a task."""

import pytest

from operable.flow.run.caller import Caller
from tests.requirement import requirement


@requirement("agentcli:cli:whoami")
@pytest.mark.parametrize(
    "environment, principal",
    [
        ({"USER": "u", "USERNAME": "n", "HOSTNAME": "h", "HOST": "o"}, "u@h"),
        ({"USERNAME": "n", "HOST": "o"}, "n@o"),
        ({"USER": "", "USERNAME": "n", "HOSTNAME": ""}, "n@localhost"),
        ({"HOSTNAME": "h"}, "unknown@h"),
        ({}, "unknown@localhost"),
    ],
)
def test_a_caller_is_a_user_at_a_host(environment, principal):
    assert Caller("/", environment).principal == principal
