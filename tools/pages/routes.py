"""docs/reference/routes.md: every route of the daemon, from its declaration."""

from operable.serve.http.route import HttpRoute, all_routes
from tools.markdown import code, table

PATH = "docs/reference/routes.md"


def render() -> str:
    routes = all_routes()
    return "\n".join(
        [
            "# Routes of the daemon",
            "",
            "Generated from the source by `./dev fix`. How to use them: [the guide](../guides/serve.md). Types of",
            "arguments and answers are in [openapi.json](openapi.json), which `GET /openapi.json` also gives.",
            "",
            "`scope` is what a token needs; `admin` includes the others. Besides the errors that are listed, every",
            "route may answer 400, 401, 403, 404, 429, 500 and 503, as the [categories](errors.md) of errors say.",
            "",
            *table(("route", "scope", "does", "answer", "errors"), map(_row, routes)),
            "",
        ]
    )


def _row(route: HttpRoute) -> tuple[str, ...]:
    parameters = list(route.query.__struct_fields__)
    text = f"{route.path}?{'&'.join(parameters)}" if parameters else route.path
    answer = (
        code(getattr(route.result, "__name__", "object")) if route.result is not None else code(route.media)
    )
    errors = [f"{status} {', '.join(map(code, codes))}" for status, codes in route.errors.items()]
    return (
        f"{code(f'{route.method} {text}')}",
        route.scope,
        route.summary,
        f"{route.status} {answer}",
        "; ".join(errors),
    )
