"""The page is given to browsers that have logged in, as files that are listed, and carries what its requests need."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from operable.serve import catalog
from tests.cli.drive import operable
from tests.serve.daemon import Client, write_session

WEB = Path(catalog.__file__).parent / "web"
FILES = sorted(
    str(path.relative_to(WEB)) for path in WEB.rglob("*") if path.suffix in (".js", ".css", ".svg")
)


def test_a_browser_without_a_login_is_told_how_to_get_one(daemon):
    answer = daemon.anonymous.get("/", headers={"Cookie": "operable_1=x"})

    assert (answer.status, answer.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert b"operable serve --link" in answer.data
    assert b"csrf" not in answer.data


def framed(page: bytes) -> dict[str, Any]:
    """What the frame of the page carries."""
    data = re.search(rb'id="data">(.*?)</script>', page)
    assert data is not None
    return json.loads(data[1])  # type: ignore[no-any-return]


def test_the_frame_carries_what_the_first_view_shows_and_what_requests_send(daemon):
    client, headers = daemon.browser()
    write_session(daemon, "ses_hostile", [], label="</script><script>alert(1)</script>")

    frame = client.get("/", headers={"Cookie": headers["Cookie"]})

    data = framed(frame.data)
    assert data["csrf"] == headers["X-Operable-CSRF"]
    assert data["scopes"] == ["admin", "approve", "prompt", "read"]
    assert data["approvals"] == client.get("/approvals", headers=headers).json["approvals"]
    shown = client.get("/sessions", headers=headers).json["sessions"]
    assert data["sessions"] == shown
    assert "</script><script>alert(1)</script>" in [each["label"] for each in shown]
    assert b"<script>alert" not in frame.data
    assert frame.headers["cache-control"] == "no-store"


def test_the_stream_goes_on_where_the_frame_was_made(daemon):
    client, headers = daemon.browser()
    cursor = framed(client.get("/", headers={"Cookie": headers["Cookie"]}).data)["cursor"]
    write_session(daemon, "ses_later", [])

    with daemon.admin.stream(f"/events?after={cursor}") as stream:
        while (message := stream.message()).event != "session" or message.data["id"] != "ses_later":
            pass

    assert int(message.id) > cursor


def test_every_module_is_named_in_the_frame_so_that_all_are_loaded_at_once(daemon):
    client, headers = daemon.browser()

    frame = client.get("/", headers=headers).data.decode()

    named = set(re.findall(r'<link rel="modulepreload" href="/web/v-[0-9a-f]{16}/([^"]+)">', frame))
    assert named == {name for name in FILES if name.endswith(".js")}


def test_a_browser_keeps_the_files_of_a_version_and_no_others(daemon):
    client, headers = daemon.browser()
    (version,) = set(re.findall(r'"/web/(v-[0-9a-f]{16})/', client.get("/", headers=headers).data.decode()))

    kept = client.get(f"/web/{version}/app.js", headers=headers)
    older = client.get("/web/v-0000000000000000/app.js", headers=headers)

    assert "immutable" in kept.headers["cache-control"]
    assert (older.status, older.headers["cache-control"]) == (200, "no-cache")
    assert kept.data == older.data == (WEB / "app.js").read_bytes()


def test_every_file_of_the_page_is_served_and_every_import_is_a_file(daemon):
    client, headers = daemon.browser()
    types = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    for name in FILES:
        answer = client.get(f"/web/{name}", headers=headers)
        assert (answer.status, answer.data) == (200, (WEB / name).read_bytes()), name
        assert answer.headers["content-type"].startswith(types[Path(name).suffix])
        for found in re.findall(r'from "(\.[^"]+)"', answer.data.decode()):
            assert ((WEB / name).parent / found).resolve().is_file(), (name, found)
    frame = client.get("/", headers=headers).data.decode()
    linked = re.findall(r'(?:href|src)="/web/v-[0-9a-f]{16}/([^"]+)"', frame)
    assert set(linked) <= {*FILES, "style.css"}
    styles = client.get("/web/style.css", headers=headers).data
    assert len(styles) == sum((WEB / name).stat().st_size for name in FILES if name.endswith(".css"))


def test_the_page_has_no_inline_script_and_nothing_from_elsewhere():
    for path in WEB.rglob("*"):
        if path.suffix in (".js", ".css", ".html", ".svg"):
            text = path.read_text("utf-8")
            assert "innerHTML" not in text, path
            assert not re.search(r"\bon\w+=\"|<style|javascript:|@import|eval\(|insertAdjacentHTML", text), (
                path
            )
            addresses = re.findall(r"(?:src|href|url)\W{1,3}(https?:[^\"')]+)", text)
            assert addresses == [], path


@pytest.mark.parametrize(
    "path",
    [
        "/web/../app.py",
        "/web/%2e%2e/app.py",
        "/web/..%2fapp.py",
        "/web/",
        "/web/jsconfig.json",
        "/web/v-0000000000000000/../app.py",
        "/web/v-0000000000000000/jsconfig.json",
        "/web/x%00.js",
    ],
)
def test_nothing_else_is_a_file_of_the_page(daemon, path):
    client, headers = daemon.browser()

    answer = client.get(path, headers=headers)

    assert answer.status == 404


def test_files_of_the_page_need_a_login(daemon):
    assert daemon.anonymous.get("/web/app.js").status == 401


def test_another_login_link_can_be_had_while_the_daemon_runs(daemon):
    (made,) = operable("serve", "--link", env={"OPERABLE_HOME": str(daemon.home)}).of("login_link_made")

    answer = Client(daemon.url).get(made["url"].removeprefix(daemon.url))

    assert (answer.status, made["expires_in_s"]) == (200, 300)
    assert "HttpOnly" in answer.headers["set-cookie"]
    again = Client(daemon.url).get(made["url"].removeprefix(daemon.url))
    assert (again.status, again.code) == (401, "LOGIN_INVALID")


def test_without_a_daemon_there_is_no_link(tmp_path):
    (error,) = operable("serve", "--link", env={"OPERABLE_HOME": str(tmp_path)}).of("aoi:error")

    assert (error["code"], error["hint"]) == ("NO_DAEMON", "start it: operable serve")
