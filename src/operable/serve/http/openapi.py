"""The OpenAPI 3.1 document, made from the declarations of the routes: the code is the only description of the interface."""

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from operable import __version__
from operable.serve.http.errors import STATUS_OF_CATEGORY, STATUS_OF_CODE, ErrorAnswer
from operable.serve.http.route import HttpRoute

_REFERENCE = "#/components/schemas/{name}"
_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
# What any route may answer, and why.
_COMMON = {
    400: "The request is not valid.",
    403: "The token does not allow it, or the request names another host or origin.",
    404: "There is no such thing.",
    408: "The body did not come in time.",
    413: "The body is too large.",
    429: "There are too many requests.",
    500: "A bug of the daemon; its log has the reason.",
    503: "Something that it needs is not available now.",
}
_OTHER = {
    401: "The request has no valid token.",
    409: "The state of the thing does not allow it.",
    501: "Nothing on this machine can do it.",
    502: "Something that it needs failed.",
    504: "It took too long.",
}
_WITH_BODY = (408, 413)


def openapi_document(routes: Iterable[HttpRoute]) -> dict[str, Any]:
    routes = list(routes)
    types = {id(kind): kind for route in routes for kind in (route.result, route.body) if kind is not None}
    queries = {id(route.query): route.query for route in routes}
    schemas, components = msgspec.json.schema_components(
        [*types.values(), ErrorAnswer], ref_template=_REFERENCE
    )
    known = dict(zip([*types, id(ErrorAnswer)], schemas, strict=True))
    found, _ = msgspec.json.schema_components(list(queries.values()), ref_template=_REFERENCE)
    _, query_components = msgspec.json.schema_components(list(queries.values()), ref_template=_REFERENCE)
    parameters = {
        key: query_components[reference["$ref"].rpartition("/")[2]]
        for key, reference in zip(queries, found, strict=True)
    }
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        path = _PARAMETER.sub(r"{\1}", route.path)
        paths.setdefault(path, {})[route.method.lower()] = _operation(
            route, known, parameters[id(route.query)]
        )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "operable serve",
            "version": __version__,
            "summary": "Agents, tools, applications and flows of one machine, under one gate.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _operation(route: HttpRoute, known: dict[int, Any], query: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.operation_id,
        "summary": route.summary,
        "tags": [route.tag],
        "x-scope": route.scope,
        "parameters": [*_path_parameters(route), *_query_parameters(query)],
        "responses": _responses(route, known),
    }
    if route.scope == "none":
        operation["security"] = []
    if route.has_raw_body:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": {}}}}
    if route.body is not None:
        content = {"application/json": {"schema": known[id(route.body)]}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _takes_body(route: HttpRoute) -> bool:
    return route.body is not None or route.has_raw_body


def _path_parameters(route: HttpRoute) -> list[dict[str, Any]]:
    schema = {"type": "string", "minLength": 1}
    return [
        {"name": name, "in": "path", "required": True, "schema": schema}
        for name in _PARAMETER.findall(route.path)
    ]


def _query_parameters(query: dict[str, Any]) -> list[dict[str, Any]]:
    required = query.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in required, "schema": schema}
        for name, schema in query["properties"].items()
    ]


def _responses(route: HttpRoute, known: dict[int, Any]) -> dict[str, Any]:
    schema = {"type": "string"} if route.result is None else known[id(route.result)]
    responses: dict[str, Any] = {
        str(route.status): {"description": route.summary, "content": {route.media: {"schema": schema}}}
    }
    for status, meaning in route.other_statuses.items():
        responses[str(status)] = {"description": meaning}
    error = {"application/json": {"schema": known[id(ErrorAnswer)]}}
    statuses = {status for status in _COMMON if _takes_body(route) or status not in _WITH_BODY}
    statuses |= set(route.errors) | ({401} if route.scope != "none" else set())
    for status in sorted(statuses):
        meaning = _COMMON.get(status) or _OTHER[status]
        codes = route.errors.get(status, ())
        text = f"{meaning} Codes: {', '.join(codes)}." if codes else meaning
        responses[str(status)] = {"description": text, "content": error}
    return responses


if not set(_COMMON) | set(_OTHER) >= ({*STATUS_OF_CATEGORY.values(), *STATUS_OF_CODE.values()} - {405}):
    raise AssertionError("a status of an error has no meaning here")
