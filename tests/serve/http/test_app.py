"""Every request passes its name, its token, its scope and its limits."""

import json
import signal
import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from operable.serve.http import app, connection
from operable.serve.http.access.browser import FAILED_LOGINS
from operable.serve.http.route import BODY_LIMIT, all_routes
from tests.cli.drive import operable, running
from tests.serve.daemon import Client, serving
from tests.tool.drive import LIMIT

OPEN = {route.path for route in all_routes() if route.scope == "none"}
GUARDED = [
    (route.method, route.path.replace("{", "").replace("}", ""))
    for route in all_routes()
    if route.scope != "none"
]


def test_health_needs_no_token_and_says_nothing_else(daemon):
    answer = daemon.anonymous.get("/health")
    assert (answer.status, answer.json) == (200, {"ok": True})


@pytest.mark.parametrize("method, path", GUARDED)
def test_a_request_without_a_token_is_refused_on_every_route(daemon, method, path):
    for client in (daemon.anonymous, Client(daemon.url, "opt_" + "x" * 43)):
        answer = client(method, path, {})
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert answer.json["error"]["category"] == "authn"
    assert {"/health", "/login", "/", "/web/{path:path}"} >= OPEN


def test_every_answer_has_the_security_headers(daemon):
    for answer in (
        daemon.anonymous.get("/health"),
        daemon.anonymous.get("/x"),
        daemon.admin.get("/sessions"),
    ):
        assert "'unsafe-inline'" not in answer.headers["content-security-policy"]
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "server" not in answer.headers


@pytest.mark.parametrize(
    "host",
    [
        *(
            "evil.example",
            "127.0.0.1.evil.example",
            "",
            "[::1",
            "127.0.0.1@evil.example",
            "evil.example@127.0.0.1",
        ),
        *(
            "127.0.0.1:80.evil.example",
            "127.0.0.1:80,evil.example",
            "127.0.0.1:x",
            "127.0.0.1/x",
            "127.0.0.1 x",
        ),
    ],
)
def test_another_host_is_refused(daemon, host):
    answer = daemon.admin.get("/sessions", headers={"Host": host})
    assert (answer.status, answer.code) == (403, "HOST_NOT_OURS")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"])
def test_another_origin_is_refused_even_with_a_token(daemon, origin):
    answer = daemon.admin("POST", "/logins", headers={"Origin": origin})
    assert (answer.status, answer.code) == (403, "ORIGIN_NOT_OURS")


def test_unknown_paths_and_methods_are_errors_with_a_code(daemon):
    assert (daemon.admin.get("/nothing").status, daemon.admin.get("/nothing").code) == (404, "NO_SUCH_ROUTE")
    answer = daemon.admin("PUT", "/health")
    assert (answer.status, answer.code) == (405, "METHOD_NOT_ALLOWED")


def test_arguments_are_checked_against_their_types(daemon):
    assert daemon.admin.get("/sessions?limit=0").code == "PARAMETER_INVALID"
    assert daemon.admin.get("/sessions?surplus=1").code == "PARAMETER_INVALID"
    assert daemon.admin.get("/sessions?limit=1&limit=2").code == "PARAMETER_INVALID"
    for body in (b"{", b"[]", b'{"name": 1}', b'{"name": "a", "scopes": ["root"]}', b"\xff", b"[" * 100_000):
        answer = daemon.admin("POST", "/tokens", body)
        assert (answer.status, answer.code) == (400, "BODY_INVALID")


def test_a_body_that_is_too_large_is_refused_before_it_is_read(daemon):
    head = f"POST /tokens HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {daemon.admin.token}\r\n"
    received = daemon.anonymous.raw(f"{head}Content-Length: {BODY_LIMIT + 1}\r\n\r\n".encode())
    assert received.startswith(b"HTTP/1.1 413")
    assert b"BODY_TOO_LARGE" in received
    chunked = f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + b"%x\r\n%b\r\n" % (
        BODY_LIMIT + 1,
        b" " * (BODY_LIMIT + 1),
    )
    assert daemon.anonymous.raw(chunked).startswith(b"HTTP/1.1 413")


def test_headers_beyond_their_limit_are_refused(daemon):
    received = daemon.anonymous.raw(
        b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * connection.HEADER_LIMIT
    )
    assert received.startswith(b"HTTP/1.1 400")


def test_login_works_once_and_leads_to_a_cookie(daemon):
    link = daemon.admin("POST", "/logins").json["url"].removeprefix(daemon.url)
    first, second = daemon.anonymous.get(link), daemon.anonymous.get(link)
    assert first.status == 200
    assert "HttpOnly; SameSite=Strict; Path=/" in first.headers["set-cookie"]
    assert (second.status, second.code) == (401, "LOGIN_INVALID")


def test_a_browser_changes_things_only_from_our_page(daemon):
    client, page = daemon.browser()
    assert client.get("/sessions", headers={"Cookie": page["Cookie"]}).status == 200
    for missing in ("Origin", "X-Operable-CSRF"):
        headers = {name: value for name, value in page.items() if name != missing}
        assert client("POST", "/logins", headers=headers).code == "CSRF_MISSING"
    assert client("POST", "/logins", headers={**page, "X-Operable-CSRF": "0" * 64}).code == "CSRF_MISSING"
    assert client("POST", "/logins", headers=page).status == 201


def test_after_logout_the_cookie_is_worth_nothing(daemon):
    client, page = daemon.browser()
    answer = client("POST", "/logout", headers=page)
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert client.get("/sessions", headers=page).status == 401


def test_failed_logins_are_counted(tmp_path):
    with serving(tmp_path / "home") as daemon:
        codes = [daemon.anonymous.get(f"/login?code={number}").code for number in range(FAILED_LOGINS + 1)]
        assert codes == ["LOGIN_INVALID"] * FAILED_LOGINS + ["TOO_MANY_LOGINS"]
        link = daemon.admin("POST", "/logins").json["url"].removeprefix(daemon.url)
        assert daemon.anonymous.get(link).status == 429


def test_a_token_has_only_its_scopes(daemon):
    reader = daemon.token("reader", "read")
    assert reader.get("/sessions").status == 200
    assert reader("POST", "/logins").code == "SCOPE_MISSING"
    assert daemon.admin("POST", "/tokens", {"name": "reader", "scopes": ["read"]}).code == "TOKEN_EXISTS"
    assert daemon.admin("DELETE", "/tokens/reader").status == 200
    assert reader.get("/sessions").code == "TOKEN_UNKNOWN"
    assert daemon.admin("DELETE", "/tokens/reader").code == "NO_SUCH_TOKEN"


def test_texts_of_tokens_are_in_no_file_but_the_first(daemon):
    text = daemon.token("once", "read").token
    files = [path for path in (daemon.home / "state" / "serve").rglob("*") if path.is_file()]
    assert not any(text in path.read_text() for path in files)
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert "text" not in json.dumps(daemon.admin.get("/tokens").json)


def test_a_slow_body_ends_and_slows_no_other(daemon, monkeypatch):
    # The bound itself: the daemon's own timer is tested in tests/serve/http/test_connection.py with a short time.
    assert app.BODY_TIMEOUT == connection.IDLE_TIMEOUT == 30
    head = f"POST /tokens HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {daemon.admin.token}\r\nContent-Length: 100\r\n\r\n"
    slow = [
        socket.create_connection((daemon.admin.host, daemon.admin.port), timeout=LIMIT) for _ in range(100)
    ]
    try:
        for each in slow:
            each.sendall(head.encode() + b"{")
        answers = [daemon.admin.get("/health").status for _ in range(10)]
    finally:
        for each in slow:
            each.close()
    assert answers == [200] * 10


def test_a_second_daemon_says_where_the_first_is(daemon):
    done = operable("serve", env={"OPERABLE_HOME": str(daemon.home)})
    assert (done.error["code"], done.error["target"]) == ("DAEMON_RUNS", daemon.url)


def test_it_listens_on_other_addresses_only_with_tls_or_a_flag(tmp_path):
    env = {"OPERABLE_HOME": str(tmp_path)}
    assert operable("serve", "--listen", "0.0.0.0:0", env=env).error["code"] == "LISTEN_INSECURE"
    assert operable("serve", "--listen", "localhost", env=env).error["code"] == "INVALID_VALUE"
    assert operable("serve", "--tls-cert", "x", env=env).error["code"] == "OPTIONS_CONFLICT"


def test_a_flag_lets_other_machines_reach_it_without_tls(tmp_path):
    env = {"OPERABLE_HOME": str(tmp_path)}
    with running("serve", "--listen", "0.0.0.0:0", "--insecure-listen", env=env) as started:
        port = int(started.event("daemon_serving")["url"].rpartition(":")[2])
        assert Client(f"http://127.0.0.1:{port}").get("/health").json == {"ok": True}


def test_with_a_certificate_it_speaks_tls_under_its_name(tmp_path):
    certificate, key = make_certificate(tmp_path, "box.example.org")
    words = (
        "--listen",
        "127.0.0.1:0",
        "--tls-cert",
        certificate,
        "--tls-key",
        key,
        "--name",
        "box.example.org",
    )
    with running("serve", *words, env={"OPERABLE_HOME": str(tmp_path)}) as started:
        url = started.event("daemon_serving")["url"]
        name, port = url.removeprefix("https://").split(":")
        assert name == "box.example.org"
        trusting = ssl.create_default_context(cafile=certificate)
        with (
            socket.create_connection(("127.0.0.1", int(port)), timeout=LIMIT) as plain,
            trusting.wrap_socket(plain, server_hostname=name) as secure,
        ):
            secure.sendall(
                f"GET /health HTTP/1.1\r\nHost: {name}:{port}\r\nConnection: close\r\n\r\n".encode()
            )
            answer = b"".join(iter(lambda: secure.recv(65_536), b""))
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert answer.endswith(b'{"ok":true}')


def test_a_certificate_that_cannot_be_used_is_refused_before_a_client_is_told_where_to_connect(tmp_path):
    certificate, key = make_certificate(tmp_path, "box.example.org")
    open_key, locked, other = (tmp_path / name for name in ("open.pem", "locked.pem", "other"))
    open_key.write_bytes(Path(key).read_bytes())
    open_key.chmod(0o644)
    private = load_pem_private_key(Path(key).read_bytes(), None)
    locked.write_bytes(
        private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x"))
    )
    locked.chmod(0o600)
    other.mkdir()
    foreign, _ = make_certificate(other, "box.example.org")
    for files, why in (
        ((certificate, str(tmp_path / "no.pem")), "No such file"),
        ((certificate, str(open_key)), "others can read"),
        ((certificate, str(locked)), "it is encrypted"),
        ((foreign, key), "not a certificate in PEM form that fits"),
    ):
        words = ("--listen", "127.0.0.1:0", "--tls-cert", files[0], "--tls-key", files[1])
        done = operable("serve", *words, env={"OPERABLE_HOME": str(tmp_path / "home")})
        assert (done.error["code"], done.exit_code) == ("TLS_UNUSABLE", 78)
        assert why in done.error["message"]
        assert not any(event["type"] == "daemon_serving" for event in done.events)


def make_certificate(folder, name):
    """A certificate that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(Encoding.PEM))
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "key.pem").write_bytes(private)
    (folder / "key.pem").chmod(0o600)
    return str(folder / "cert.pem"), str(folder / "key.pem")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_the_next_one_has_the_same_token(tmp_path, number):
    with serving(tmp_path / "home") as daemon:
        daemon.process.send_signal(number)
        daemon.process.wait(LIMIT)
        with serving(tmp_path / "home") as again:
            assert again.admin.token == daemon.admin.token


@pytest.mark.parametrize(
    "path", ["/catalog", "/flows", "/runs", "/policy", "/workspaces", "/metrics", "/lint", "/events"]
)
def test_a_token_of_one_workspace_reaches_nothing_that_is_of_all(daemon, path):
    bound = daemon.token(f"bound-{path.strip('/')}", "read", "prompt", workspace="work")

    answer = bound.get(path)

    assert (answer.status, answer.code) == (403, "OTHER_WORKSPACE")
    assert bound.get("/sessions").status == 200


@pytest.mark.parametrize("choice", [{"policy": "/tmp/rules.toml"}, {"sandbox": "none"}])
def test_only_an_admin_chooses_the_rules_or_the_sandbox_of_a_session(daemon, choice):
    user = daemon.token(f"user-{next(iter(choice))}", "read", "prompt")

    answer = user("POST", "/sessions/agent", {"adapter": "none", **choice})

    assert (answer.status, answer.code) == (403, "SCOPE_MISSING")
