"""Making announcements: one thread per worker, while something is due. A slow receiver delays announcements, never runs.

An announcement goes only where the manifest says: redirects are not followed, a file outside of the contract's
allowed paths is refused, and a command runs in the contract's enclosure. What cannot succeed later (a refusal by the
contract) is tried again as well: the number of tries is small.
"""

import os
import threading
from collections.abc import Callable

from operable.engine.store.database import Database
from operable.engine.store.deliveries import DeliveryStore, DueDelivery
from operable.flow.contracts import Surroundings
from operable.flow.errors import FlowError
from operable.flow.manifest.delivery import delivery_problems
from operable.flow.manifest.inheritance import merged_contract
from operable.flow.manifest.selection import Selected, select
from operable.flow.run.caller import Caller, bind
from operable.flow.run.command_gate import DELIVERY, CommandGate, TaskProgram
from operable.flow.run.enclosure import enclosed, folders, is_inside
from operable.flow.run.process import run_command
from operable.flow.trust.http_exchange import ExchangeFailed, exchange
from operable.kernel.errors import Fail
from operable.proc.command import PreparedCommand, resolve
from operable.state.atomic import open_private, write_all

_TIMEOUT = 30.0  # seconds for one announcement; a claim is four times that


class Deliveries:
    def __init__(self, database: Database, clock: Callable[[], int], caller: Caller) -> None:
        self._store, self._caller = DeliveryStore(database, clock), caller
        self._thread: threading.Thread | None = None

    @property
    def is_busy(self) -> bool:
        return (self._thread is not None and self._thread.is_alive()) or self._store.is_due()

    def look(self) -> None:
        """Begin to make what is due, unless that is going on."""
        if (self._thread is None or not self._thread.is_alive()) and self._store.is_due():
            self._thread = threading.Thread(target=self._make_all, name="deliveries", daemon=True)
            self._thread.start()

    def close(self, timeout: float) -> None:
        """Wait for the one that is being made. What is left is made by another worker."""
        if self._thread is not None:
            self._thread.join(timeout)

    def _make_all(self) -> None:
        try:
            while (due := self._store.claim()) is not None:
                self._store.record(due.row, self._problem(due))
        except Fail:
            return  # the store does not answer; the claim ends by itself

    def _problem(self, due: DueDelivery) -> str | None:
        """Make one announcement. Returns why it was not made."""
        source = due.definition.document["source"]
        try:
            selected = select(due.manifest, source["task_id"], source["workflow_id"])
            contract = merged_contract(selected.workflow, selected.task)
            for member, message in delivery_problems(selected.task, contract):
                return f"{member} {message}"
            _CHANNELS[due.row.channel](due, selected, self._caller)
        except (Fail, ExchangeFailed, OSError) as error:
            return str(error)
        return None


def _post(due: DueDelivery, _: Selected, caller: Caller) -> None:
    around = Surroundings(caller.cwd, caller.environment, network=True)
    headers = {"content-type": "application/json", "idempotency-key": due.row.run_id}
    body = due.announcement.encode("utf-8", "replace")
    answer = exchange(
        "POST", due.row.destination, headers=headers, body=body, around=around, timeout=_TIMEOUT
    )
    if not answer.ok:
        raise ExchangeFailed(f"the receiver answered HTTP {answer.status}")


def _append(due: DueDelivery, selected: Selected, caller: Caller) -> None:
    path = os.path.realpath(os.path.join(bind(selected, caller).cwd, due.row.destination))
    allowed = folders(merged_contract(selected.workflow, selected.task), caller.cwd)
    if allowed and not any(is_inside(path, folder) for folder in allowed):
        raise FlowError("contract_violation", f"{path} is not under any allowed path")
    descriptor = open_private(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        size = os.fstat(descriptor).st_size
        # A disk that was full has left a part of a line; the next one begins a line of its own.
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        line = due.announcement.encode("utf-8", "replace") + b"\n"
        write_all(descriptor, b"\n" + line if torn else line)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _command(due: DueDelivery, selected: Selected, caller: Caller) -> None:
    bound, contract = bind(selected, caller), merged_contract(selected.workflow, selected.task)
    environment = {**bound.environment, "OPERABLE_RUN_ID": due.row.run_id}
    program = due.row.destination
    command = PreparedCommand(
        (program,), resolve(program, env=bound.environment, cwd=bound.cwd), environment, bound.cwd
    )
    mode = caller.environment.get("AGENTCLI_SANDBOX", "")
    # No person is asked about an announcement: the others would wait for the answer.
    gate = CommandGate(selected, side=caller.side, cwd=bound.cwd, known=bound.known, stop=lambda: True)
    with (
        gate.admitted(TaskProgram(DELIVERY, (program,))) as finish,
        enclosed(contract, cwd=bound.cwd, base=caller.cwd, environment=environment, mode=mode) as enclosure,
    ):
        ran = run_command(enclosure.wrap(command), stdin=due.announcement, timeout=_TIMEOUT)
        finish("OK" if ran.ok else "DELIVERY_FAILED")
    if not ran.ok:
        end = "took too long" if ran.timed_out else f"exit status {ran.exit_code}"
        raise FlowError("delegation_error", f"{program}: {ran.problem or end}")


_CHANNELS = {"webhook": _post, "file": _append, "command": _command}
