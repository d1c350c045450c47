"""Workspaces: the folders that the user registered."""

from typing import Annotated

import msgspec

from operable.serve.http.route import HttpRoute, NoQuery, RouteCall
from operable.serve.session.workspaces import RegisteredWorkspace, WorkspaceList


class NewWorkspace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    slug: Annotated[str, msgspec.Meta(max_length=63)]
    path: Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
    label: str | None = None


class ActiveWorkspace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """null: no workspace is active."""

    slug: str | None


async def list_workspaces(call: RouteCall[NoQuery, None]) -> WorkspaceList:
    return call.daemon.sessions.workspaces.list()


async def register(call: RouteCall[NoQuery, NewWorkspace]) -> RegisteredWorkspace:
    body = call.body
    return call.daemon.sessions.workspaces.register(body.slug, body.path, body.label)


async def activate(call: RouteCall[NoQuery, ActiveWorkspace]) -> WorkspaceList:
    call.daemon.sessions.workspaces.activate(call.body.slug)
    return call.daemon.sessions.workspaces.list()


async def remove(call: RouteCall[NoQuery, None]) -> RegisteredWorkspace:
    return call.daemon.sessions.workspaces.remove(call.path["slug"])


_NONE = {404: ("WORKSPACE_NOT_FOUND",)}
ROUTES = (
    HttpRoute(
        "GET",
        "/workspaces",
        "listWorkspaces",
        "The registered folders.",
        "read",
        list_workspaces,
        WorkspaceList,
    ),
    HttpRoute(
        "POST",
        "/workspaces",
        "registerWorkspace",
        "Register a folder under a slug.",
        "admin",
        register,
        RegisteredWorkspace,
        body=NewWorkspace,
        status=201,
        errors={**_NONE, 409: ("TOO_MANY_WORKSPACES",)},
    ),
    HttpRoute(
        "PUT",
        "/workspaces/active",
        "activateWorkspace",
        "Choose the one that sessions without a ground get.",
        "admin",
        activate,
        WorkspaceList,
        body=ActiveWorkspace,
        errors=_NONE,
    ),
    HttpRoute(
        "DELETE",
        "/workspaces/{slug}",
        "removeWorkspace",
        "Take a folder off the list; its files stay.",
        "admin",
        remove,
        RegisteredWorkspace,
        errors=_NONE,
    ),
)
