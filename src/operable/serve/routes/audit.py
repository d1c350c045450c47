"""The audit chain of a workspace: its records, and whether each of them is as it was written."""

import asyncio
import os
from collections import deque
from typing import Annotated, Any

import msgspec

from operable.gate.audit.chain import Verified, read_audit, verify_audit
from operable.host.session.registry import Registry
from operable.kernel.errors import Fail
from operable.serve.http.route import HttpRoute, NoQuery, RouteCall

Count = Annotated[int, msgspec.Meta(ge=1, le=1000)]


class AuditQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`before` is a number of a record: older ones are wanted."""

    workspace: str
    before: Annotated[int, msgspec.Meta(ge=0)] | None = None
    limit: Count = 200


class ChainQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    workspace: str


class AuditPage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Newest first. `before` is for the next page, if there is one."""

    records: list[dict[str, Any]]
    before: int | None = None


class AuditPlace(msgspec.Struct, frozen=True):
    slug: str


class AuditPlaces(msgspec.Struct, frozen=True):
    """The workspaces that have a chain."""

    workspaces: list[AuditPlace]


class ProblemView(msgspec.Struct, frozen=True):
    code: str
    line: int
    message: str


class ChainVerdict(msgspec.Struct, frozen=True, rename="camel"):
    """What a check of the whole chain found. `lost` counts what was begun by a process that ended before it said so."""

    ok: bool
    records: int
    lost: int
    running: int
    problems: list[ProblemView]


def _path(call: RouteCall[Any, Any], slug: str) -> str:
    """Of a workspace by its name: nothing else has one."""
    if slug not in _slugs(call.daemon.sessions.homes):
        raise Fail("not_found", "NO_SUCH_CHAIN", "this workspace has no audit chain", target=slug[:100])
    call.identity.require_workspace(slug)
    return os.path.join(call.daemon.sessions.homes.root, slug, "audit.jsonl")


def _slugs(registry: Registry) -> list[str]:
    try:
        names = sorted(os.listdir(registry.root))
    except FileNotFoundError:
        return []
    return [name for name in names if os.path.exists(os.path.join(registry.root, name, "audit.jsonl"))]


async def list_places(call: RouteCall[NoQuery, None]) -> AuditPlaces:
    only = call.identity.workspace
    found = await asyncio.to_thread(_slugs, call.daemon.sessions.homes)
    return AuditPlaces([AuditPlace(slug) for slug in found if only in (None, slug)])


async def list_records(call: RouteCall[AuditQuery, None]) -> AuditPage:
    path, query = _path(call, call.query.workspace), call.query

    def read() -> AuditPage:
        kept: deque[dict[str, Any]] = deque(maxlen=query.limit + 1)
        for _, _, line in read_audit(path):
            record = msgspec.json.decode(line)
            if query.before is not None and int(record.get("seq", 0)) >= query.before:
                break
            kept.append(record)
        more = len(kept) > query.limit
        newest = list(reversed(kept))[: query.limit]
        return AuditPage(newest, int(newest[-1]["seq"]) if more else None)

    try:
        return await asyncio.to_thread(read)
    except msgspec.MsgspecError as error:
        message = "the chain has a line that is not a record"
        raise Fail("validation", "AUDIT_UNREADABLE", message, hint="verify it") from error


async def verify(call: RouteCall[ChainQuery, None]) -> ChainVerdict:
    path, slug = _path(call, call.query.workspace), call.query.workspace
    found: Verified = await asyncio.to_thread(lambda: verify_audit(path, workspace=slug))
    problems = [ProblemView(each.code, each.line, each.message) for each in found.problems]
    return ChainVerdict(found.ok, found.records, found.lost, found.running, problems)


_NONE = {404: ("NO_SUCH_CHAIN",)}
ROUTES = (
    HttpRoute(
        "GET",
        "/audit/workspaces",
        "listAuditChains",
        "The workspaces that have an audit chain.",
        "read",
        list_places,
        AuditPlaces,
    ),
    HttpRoute(
        "GET",
        "/audit",
        "listAuditRecords",
        "Records of a chain, newest first.",
        "read",
        list_records,
        AuditPage,
        query=AuditQuery,
        errors={**_NONE, 400: ("AUDIT_UNREADABLE",)},
    ),
    HttpRoute(
        "GET",
        "/audit/verify",
        "verifyAudit",
        "Check the whole chain.",
        "read",
        verify,
        ChainVerdict,
        query=ChainQuery,
        errors=_NONE,
    ),
)
