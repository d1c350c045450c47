"""What a start makes of a manifest's own words."""

import pytest

from operable.host import define_agent_cli
from operable.host.start.choices import limits_of
from operable.host.start.options import StartOptions
from operable.manifest.kinds.agent_cli import AgentCli
from tests.host.agents import manifest
from tests.host.scene import limits


@pytest.mark.parametrize(
    "mode, wanted, idle",
    [
        ("ephemeral", None, None),
        ("ephemeral", 7.0, 7.0),
        ("persistent", None, 5.0),
        ("persistent", 7.0, 7.0),
    ],
)
def test_the_idle_time_is_the_callers_then_the_manifests_and_an_ephemeral_session_has_none(
    tmp_path, mode, wanted, idle
):
    agent = define_agent_cli(manifest(tmp_path, session={"mode": mode, "idle_timeout_ms": 5000}))
    start = StartOptions() if wanted is None else StartOptions(limits=limits(idle=wanted))
    assert limits_of(agent.loaded.as_(AgentCli), start).idle == idle
