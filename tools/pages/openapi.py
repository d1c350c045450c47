"""docs/reference/openapi.json: the interface of the daemon, as `GET /openapi.json` gives it."""

import json

from operable.serve.http.openapi import openapi_document
from operable.serve.http.route import all_routes

PATH = "docs/reference/openapi.json"


def render() -> str:
    return json.dumps(openapi_document(all_routes()), indent=1, ensure_ascii=False) + "\n"
