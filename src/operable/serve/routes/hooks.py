"""Hooks: what is notified when a question waits, and whether that works."""

import msgspec

from operable.serve.hooks import HookView
from operable.serve.http.route import HttpRoute, NoQuery, RouteCall


class HookList(msgspec.Struct, frozen=True):
    """The hooks that the daemon was started with, and what became of their messages since then."""

    hooks: list[HookView]


async def list_hooks(call: RouteCall[NoQuery, None]) -> HookList:
    return HookList(call.daemon.hooks.views())


async def test(call: RouteCall[NoQuery, None]) -> HookView:
    return await call.daemon.hooks.test(call.path["name"])


ROUTES = (
    HttpRoute(
        "GET",
        "/hooks",
        "listHooks",
        "The hooks, and what became of their messages.",
        "admin",
        list_hooks,
        HookList,
    ),
    HttpRoute(
        "POST",
        "/hooks/{name}/test",
        "testHook",
        "Send one message of the type hook.test now; `problem` says why it was not delivered.",
        "admin",
        test,
        HookView,
        errors={404: ("NO_SUCH_HOOK",)},
    ),
)
