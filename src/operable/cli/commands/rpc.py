"""`operable rpc`: serve workflow manifests over JSON-RPC 2.0 on stdin and stdout, one JSON text a line.

The first line is the notification `agentcli.ready`; then standard input and output are the protocol and nothing else. Quick
methods are answered at once, slow ones beside them, by id. The end of the input ends the server. With `--output jsonl` the
same requests are answered one after the other, each answer in an `rpc_answer` event.
"""

from __future__ import annotations

from operable.cli.flow.events import RpcAnswer
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


@command(
    runs_tools=True,  # its methods: apply, import and those of the registry change what they are asked to
    limit=None,
    timeout=None,
    examples=["rpc", "rpc --db scheduler.db --compat 0.5"],
)
def rpc(
    *,
    db: str | None = None,
    home: str | None = None,
    scheduler_prefix: str | None = None,
    scheduler_bin: str | None = None,
    compat: Literal["0.5"] | None = None,
    request_timeout: float = 300.0,
    context: Context,
) -> Iterator[RpcAnswer]:
    """Serve workflow manifests over JSON-RPC on stdin and stdout.

    What a request asks for is done: apply, import, registry.add and registry.remove change things. operable.call calls a
    command of the catalog, if the rules and a person allow it.

    db FILE: the scheduler's database, for requests that name none
    home DIR: where manifests, approvals and the audit are kept
    scheduler_prefix DIR: the npm prefix that has openclaw-scheduler
    scheduler_bin FILE: the scheduler's program
    compat: answer in the shapes of the newest peer where they differ from the draft's
    request_timeout: seconds for one slow request
    """
    from operable.cli.flow.catalog_method import METHODS
    from operable.cli.flow.input import addressed
    from operable.cli.flow.rpc import answers, defaults_of, require_timeout, serve

    require_timeout(request_timeout)
    with addressed("."):
        defaults = defaults_of(
            db=db, home=home, prefix=scheduler_prefix, program=scheduler_bin, compat=compat
        )
    if context.machine:
        yield from answers(defaults, METHODS)
    else:
        serve(defaults, request_timeout, METHODS)


COMMAND = rpc
