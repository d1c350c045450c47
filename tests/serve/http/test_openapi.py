"""The OpenAPI document says what the routes are."""

import json
from pathlib import Path

import jsonschema_rs

from operable.serve.http.openapi import openapi_document
from operable.serve.http.route import all_routes

KEPT = Path(__file__).parents[3] / "docs" / "reference" / "openapi.json"


def test_the_daemon_gives_the_document_that_is_kept(daemon):
    assert daemon.admin.get("/openapi.json").json == json.loads(KEPT.read_text())


def test_every_route_is_in_it_once(daemon):
    document = openapi_document(all_routes())
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    names = [operation["operationId"] for operation in operations]
    assert sorted(names) == sorted({route.operation_id for route in all_routes()})
    assert len(names) == len(all_routes())


def test_every_reference_and_schema_in_it_is_valid():
    document = openapi_document(all_routes())
    text = json.dumps(document)
    for name in {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}:
        assert name in document["components"]["schemas"]
    for schema in document["components"]["schemas"].values():
        jsonschema_rs.meta.validate({**schema, "$schema": "https://json-schema.org/draft/2020-12/schema"})
