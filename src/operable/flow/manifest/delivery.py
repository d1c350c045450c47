"""Where the end of a run is announced: what `delivery.channel` and `delivery.to` mean to Operable's own engine.

    webhook   an address: https, or http on this machine; the announcement is the body of a POST
    file      a path: the announcement is a line at its end
    command   a program: it gets the announcement on its standard input

`announce` is about failures, and of a prompt also about its answer; `announce-always` about every end. What the task may
reach (`contract.network`) counts for its announcement also.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from operable.flow.manifest.profile_rules import is_safe_endpoint

CHANNELS = ("webhook", "file", "command")


def delivery_problems(task: Mapping[str, Any], contract: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(member, message) for a delivery that the engine could not make, or must not."""
    delivery = task.get("delivery") or {}
    if (delivery.get("mode") or "none") == "none":
        return
    channel, to = delivery.get("channel"), str(delivery.get("to"))
    if channel not in CHANNELS:
        yield "delivery.channel", f"must be one of: {', '.join(CHANNELS)}"
    elif channel == "webhook":
        if not is_safe_endpoint(to):
            yield "delivery.to", "must be an https address (http only for loopback), without credentials"
        elif contract.get("network") in ("none", "restricted"):
            # The proxy of a restricted task is the task's own: nothing would hold its announcement to public hosts.
            yield "delivery.to", f"is on a network, and contract.network is {contract['network']}"
