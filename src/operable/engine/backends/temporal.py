"""Temporal: for those who run it already. `temporal://HOST:PORT/NAMESPACE`, with 7233 and `default` if they are left out.

A ticket is a workflow with one activity, and its name is part of the workflow's id. The workflow waits for its delay on the
server; the activity delivers. Temporal redelivers by itself: an activity whose worker sends no heartbeat for ten seconds is
given to another worker. That decides about tickets only. Whether an attempt is lost is decided by our locks, so a heartbeat
that is late repeats nothing: the second worker finds that the run has started, and the ticket ends there.

Two stores may share a namespace: the queue and the ids have the store's identity. How the connection is made is said by the
variables that Temporal's own tools read (TEMPORAL_TLS…, TEMPORAL_API_KEY, TEMPORAL_CONFIG_FILE); the address and the
namespace are always those of the queue.
"""

import asyncio
import logging
import re
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from temporalio import activity, workflow
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest, DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.common import RetryPolicy, WorkflowIDReusePolicy
from temporalio.envconfig import ClientConfigProfile
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.runtime import Runtime, TelemetryConfig
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Worker

from operable.engine.backend import Backend, BackendEntry, QueueSettings
from operable.engine.store.queue import QueueIdentity
from operable.kernel.errors import Fail

_Result = TypeVar("_Result")
_NAME = "operable-ticket"
_PORT = 7233
_RPC_TIMEOUT = timedelta(seconds=5)
_CALL_TIMEOUT = 60.0  # of one of our calls, which may be many requests
_AT_ONCE = 20  # requests that wait for an answer at the same time
_HEARTBEAT = timedelta(seconds=10)
# Temporal wants a limit. What it gives out again after so long finds a run that has ended or started.
_LONGEST = timedelta(days=365)
_PAUSE = 2.0  # between two tries to poll, after an error that Temporal's client does not retry
_UNKNOWN = (RPCStatusCode.NOT_FOUND, RPCStatusCode.INVALID_ARGUMENT)
_CREDENTIALS = "credentials are variables: TEMPORAL_API_KEY, TEMPORAL_TLS_CLIENT_CERT_PATH, …"
_DENIED = (RPCStatusCode.UNAUTHENTICATED, RPCStatusCode.PERMISSION_DENIED)


@workflow.defn(name=_NAME, sandboxed=False)
class TicketWorkflow:
    @workflow.run
    async def run(self, ticket: str) -> None:
        await workflow.execute_activity(
            _NAME,
            ticket,
            start_to_close_timeout=_LONGEST,
            heartbeat_timeout=_HEARTBEAT,
            retry_policy=RetryPolicy(
                initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=30)
            ),
        )


class TemporalBackend:
    """A client and a worker of Temporal, on an event loop in a thread of its own."""

    def __init__(self, settings: QueueSettings) -> None:
        self._address, self._namespace = _read_url(settings.queue)
        self._shown = f"temporal://{self._address}/{self._namespace}"
        self._stopping = False
        self._worker: Worker | None = None
        self._polls: asyncio.Task[None] | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="temporal", daemon=True)
        self._thread.start()
        try:
            self._client, namespace_id = self._call(self._connect(settings))
        except BaseException:
            self.stop(0)
            raise

        # Under another address it is the same queue; made anew, as a test server is, it is another.
        self.queue = QueueIdentity(f"temporal:{namespace_id}", self._shown)

    def start(self, store_id: str, worker_id: str, slots: int, deliver: Callable[[str], None]) -> None:
        self._queue = f"operable-{store_id}"
        self._pool = ThreadPoolExecutor(slots, thread_name_prefix="attempt")

        @activity.defn(name=_NAME)
        async def deliver_ticket(ticket: str) -> None:
            assert self._pool is not None  # noqa: S101 - it is there until the worker has stopped
            delivery = self._loop.run_in_executor(self._pool, deliver, ticket)
            while not delivery.done():
                activity.heartbeat()
                # A cancellation says that the server gave the ticket to another worker. What runs here goes on: only our
                # rows can end it, and it occupies a slot until then.
                with suppress(asyncio.CancelledError):
                    await asyncio.wait((delivery,), timeout=_HEARTBEAT.total_seconds() / 4)
            await delivery

        def new_worker() -> Worker:
            return Worker(
                self._client,
                task_queue=self._queue,
                workflows=[TicketWorkflow],
                activities=[deliver_ticket],
                identity=worker_id,
                build_id="operable",  # the default is a hash of every loaded module
                max_concurrent_activities=slots,
                graceful_shutdown_timeout=timedelta(seconds=1),
            )

        async def begin() -> None:
            self._polls = asyncio.create_task(self._poll(new_worker))

        self._call(begin())

    def enqueue(self, tickets: Iterable[tuple[str, float]]) -> None:
        limit = asyncio.Semaphore(_AT_ONCE)

        async def send(ticket: str, delay: float) -> None:
            async with limit:
                with suppress(WorkflowAlreadyStartedError):
                    await self._client.start_workflow(
                        _NAME,
                        ticket,
                        id=self._id(ticket),
                        task_queue=self._queue,
                        id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                        start_delay=timedelta(seconds=delay) if delay > 0 else None,
                        rpc_timeout=_RPC_TIMEOUT,
                    )

        self._call(_all(send(ticket, delay) for ticket, delay in tickets))

    def recover(self, worker_id: str) -> None:
        """Nothing to do: the heartbeats of a dead worker have ended, and the server redelivers what it had."""

    def forget(self, tickets: Iterable[str]) -> None:
        limit = asyncio.Semaphore(_AT_ONCE)

        async def delete(ticket: str) -> None:
            request = DeleteWorkflowExecutionRequest(
                namespace=self._namespace,
                workflow_execution=WorkflowExecution(workflow_id=self._id(ticket)),
            )
            async with limit:
                try:
                    await self._client.workflow_service.delete_workflow_execution(
                        request, timeout=_RPC_TIMEOUT
                    )
                except RPCError as error:
                    if error.status is not RPCStatusCode.NOT_FOUND:
                        raise

        self._call(_all(delete(ticket) for ticket in tickets))

    def waiting(self) -> int:
        query = f"TaskQueue = '{self._queue}' AND ExecutionStatus = 'Running'"
        counted = self._call(self._client.count_workflows(query, rpc_timeout=_RPC_TIMEOUT))
        return int(counted.count)

    def stop(self, timeout: float) -> None:
        self._stopping = True
        with suppress(Fail, TimeoutError):
            self._call(self._end(timeout), timeout=timeout + 5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        if self._pool is not None:
            self._pool.shutdown(wait=False)

    # -- on the loop

    async def _connect(self, settings: QueueSettings) -> tuple[Client, str]:
        logging.getLogger("temporalio").setLevel(logging.CRITICAL)
        try:
            profile = ClientConfigProfile.load(override_env_vars=dict(settings.environment))
            options: dict[str, Any] = dict(profile.to_client_connect_config())
        except (OSError, RuntimeError, ValueError) as error:
            message = f"the settings of Temporal's client cannot be read: {error}"
            hint = "the variables are TEMPORAL_TLS…, TEMPORAL_CONFIG_FILE and TEMPORAL_PROFILE"
            raise Fail("config", "QUEUE_SETTINGS", message, target=self._shown, hint=hint) from None
        client = await Client.connect(
            **options | {"target_host": self._address, "namespace": self._namespace},
            runtime=Runtime(telemetry=TelemetryConfig(logging=None)),
            connect_timeout=_RPC_TIMEOUT,
        )
        described = await client.workflow_service.describe_namespace(
            DescribeNamespaceRequest(namespace=self._namespace), timeout=_RPC_TIMEOUT
        )
        return client, described.namespace_info.id

    async def _poll(self, new_worker: Callable[[], Worker]) -> None:
        """Poll until the end. What the client does not retry (a namespace that is gone, an expired key) is tried again."""
        while not self._stopping:
            self._worker = new_worker()
            with suppress(Exception):
                await self._worker.run()
            if not self._stopping:
                await asyncio.sleep(_PAUSE)

    async def _end(self, timeout: float) -> None:
        if self._polls is None:
            return
        if self._worker is not None and self._worker.is_running:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._worker.shutdown(), timeout)
        self._polls.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait((self._polls,), timeout=1)

    def _id(self, ticket: str) -> str:
        return f"{self._queue}-{ticket}"

    def _call(self, work: Coroutine[Any, Any, _Result], timeout: float = _CALL_TIMEOUT) -> _Result:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        with _translated(self._shown):
            try:
                return future.result(timeout)
            except TimeoutError:
                future.cancel()
                raise


async def _all(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Do everything at once; the first error ends the rest and is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            for each in work:
                group.create_task(each)
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None


@contextmanager
def _translated(shown: str) -> Iterator[None]:
    """Errors of Temporal as ours. Those that an operator must change are not temporary."""
    try:
        yield
    except RPCError as error:
        message = f"the queue {shown} cannot be used: {error.message}"
        if error.status in _UNKNOWN:
            hint = "temporal operator namespace list"
            raise Fail("config", "QUEUE_UNKNOWN", message, target=shown, hint=hint) from None
        if error.status in _DENIED:
            raise Fail("authn", "QUEUE_REFUSED", message, target=shown, hint=_CREDENTIALS) from None
        raise Fail("temporary", "QUEUE_UNAVAILABLE", message, target=shown) from None
    except (RuntimeError, TimeoutError) as error:
        raise _connect_error(str(error), shown) from None


def _connect_error(text: str, shown: str) -> Fail:
    """What Temporal's client says when it does not connect: a structure of Rust, with the words of the system in it."""
    words = re.search(r'message: "([^"]+)"', text)
    reason = words[1] if words else text or "no answer in time"
    if re.search(r"\b(Unauthenticated|PermissionDenied)\b", text):
        message = f"the queue {shown} cannot be used: {reason}"
        return Fail("authn", "QUEUE_REFUSED", message, target=shown, hint=_CREDENTIALS)
    certificate = re.search(r"InvalidCertificate\((\w+)", text)
    if certificate is not None:
        message = f"the certificate of the queue {shown} is not trusted: {certificate[1]}"
        hint = (
            "TEMPORAL_TLS_SERVER_CA_CERT_PATH is what it is checked with, TEMPORAL_TLS_SERVER_NAME its name"
        )
        return Fail("config", "QUEUE_NOT_TRUSTED", message, target=shown, hint=hint)
    message = f"the queue {shown} cannot be reached: {reason}"
    hint = f"is Temporal running there? temporal operator cluster health --address {shown.split('/')[2]}"
    if "transport error" in reason:  # the connection was closed without a reason
        hint = "does it want TLS (TEMPORAL_TLS=true), or another TEMPORAL_TLS_CLIENT_CERT_PATH?"
    return Fail("temporary", "QUEUE_UNAVAILABLE", message, target=shown, hint=hint)


def _read_url(url: str) -> tuple[str, str]:
    """Address and namespace. Raises Fail if it is not a URL of Temporal."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or _PORT
    except ValueError:
        parts, host, port = urlsplit("temporal:"), None, 0
    namespace = unquote(parts.path.removeprefix("/")) or "default"
    if not host or parts.username is not None or parts.query or parts.fragment or "/" in namespace:
        message = "a queue of Temporal is temporal://HOST:PORT/NAMESPACE, without user, password and options"
        raise Fail("usage", "INVALID_VALUE", message, target="--queue", hint=_CREDENTIALS)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}", namespace


def _open(settings: QueueSettings) -> Backend:
    return TemporalBackend(settings)


BACKEND = BackendEntry(name="temporal", open=_open)
