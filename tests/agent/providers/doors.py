"""Every provider that asks over the network, configured as its users do it, at a model server on loopback.

Vertex fetches a real token with a service account's key from a real token endpoint (`GoogleTokens`); Bedrock signs its
requests, which `SigningServer` holds against the key.
"""

import contextlib
import json
import threading
from collections.abc import Generator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from operable.agent import providers
from operable.agent.loop.cancellation import Cancellation
from operable.agent.provider.model import (
    Model,
    ModelRequest,
    ModelSession,
    ProviderSettings,
    ToolOffer,
    Used,
)
from operable.agent.session.history import Block, HistoryTurn, TextBlock
from operable.kernel import catalogue
from tests.agent.providers.sigv4 import SECRET

KEY = "sk-test-0123456789abcdefghij"
TOKEN = "ya29.token-of-the-service-account"
ACCOUNT = "agent@a-project.iam.gserviceaccount.com"
ENTRIES = catalogue.names(providers.__path__[0])
DOORS = [name for name in ENTRIES if name != "offline"]
SSE = [name for name in DOORS if name != "bedrock"]
CLAUDE = ["anthropic", "bedrock", "vertex"]
READ = ToolOffer("Read", "Reads a file.", {"type": "object", "properties": {"file_path": {"type": "string"}}})
LIMIT = 200


def model(name: str) -> Model:
    found: Model = catalogue.load(providers.__name__, name, "MODEL")
    return found


def environment(name: str, credentials: Path | None = None) -> dict[str, str]:
    """What a user sets for this provider."""
    match name:
        case "anthropic":
            return {"ANTHROPIC_API_KEY": KEY}
        case "bedrock":
            return {
                "AWS_REGION": "eu-west-1",
                "AWS_ACCESS_KEY_ID": "AKIATEST",
                "AWS_SECRET_ACCESS_KEY": SECRET,
            }
        case "vertex":
            return {
                "VERTEX_PROJECT_ID": "a-project",
                "VERTEX_REGION": "europe-west1",
                "GOOGLE_APPLICATION_CREDENTIALS": str(credentials),
            }
    return {"OPENAI_API_KEY": KEY}


@contextlib.contextmanager
def opened(name: str, url: str) -> Iterator[Any]:
    """A session; for Vertex with a token, because most tests are not about fetching one."""
    key = KEY if name == "vertex" else None
    session = model(name).configure(ProviderSettings(url, key, environment(name)))
    try:
        yield session
    finally:
        session.close()


def request(name: str, script: Any, *more: Block, **fields: Any) -> ModelRequest:
    """A question that the server answers with this script."""
    turns = (HistoryTurn("user", (TextBlock(f"SCRIPT:{json.dumps(script)}"), *more)),)
    return ModelRequest(**{"model": model(name).default_model, "turns": turns, "tools": (READ,), **fields})


def ask(session: ModelSession, asked: ModelRequest, cancellation: Cancellation | None = None) -> list[Any]:
    return list(spoken(session, asked, cancellation))


def spoken(
    session: ModelSession, asked: ModelRequest, cancellation: Cancellation | None = None
) -> Generator[Any, None, None]:
    """What the model says; how much it has used so far is for answers that are cut, and left out."""
    with contextlib.closing(session.stream(asked, cancellation or Cancellation())) as stream:  # type: ignore[type-var]
        yield from (piece for piece in stream if not isinstance(piece, Used))


class GoogleTokens:
    """Google's token endpoint: a signed assertion for an access token, once it is right in every claim."""

    def __init__(self, folder: Path) -> None:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import rsa

        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._public = key.public_key()
        self.granted = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._serving())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        self.uri = f"http://127.0.0.1:{self._server.server_port}/token"
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        self.file = folder / "account.json"
        self.file.write_text(
            json.dumps(
                {
                    "type": "service_account",
                    "project_id": "a-project",
                    "private_key_id": "k1",
                    "private_key": pem.decode(),
                    "client_email": ACCOUNT,
                    "client_id": "1",
                    "token_uri": self.uri,
                }
            )
        )

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(LIMIT)

    def _claims(self, assertion: str) -> dict[str, Any]:
        """The claims of an assertion whose signature is right."""
        from joserfc import jwt
        from joserfc.jwk import RSAKey

        return jwt.decode(assertion, RSAKey.import_key(self._public), algorithms=["RS256"]).claims

    def _serving(self) -> type[BaseHTTPRequestHandler]:
        tokens = self

        class Serving(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
                claims = tokens._claims(form["assertion"][0])
                right = claims["iss"] == ACCOUNT and claims["scope"].endswith("/auth/cloud-platform")
                tokens.granted += right
                body = json.dumps(
                    {"access_token": TOKEN, "expires_in": 3600, "token_type": "Bearer"}
                ).encode()
                self.send_response(200 if right else 400)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                return

        return Serving
