"""The page is given to browsers that have logged in, as files that are listed, and carries what its requests need."""

import json
import re
from pathlib import Path

import pytest

from operable.serve import catalog
from tests.cli.drive import operable
from tests.serve.daemon import Client

WEB = Path(catalog.__file__).parent / "web"
FILES = sorted(
    str(path.relative_to(WEB)) for path in WEB.rglob("*") if path.suffix in (".js", ".css", ".svg")
)


def test_a_browser_without_a_login_is_told_how_to_get_one(daemon):
    answer = daemon.anonymous.get("/", headers={"Cookie": "operable_1=x"})

    assert (answer.status, answer.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert b"operable serve --link" in answer.data
    assert b"csrf" not in answer.data


def test_the_frame_carries_what_requests_that_change_something_send(daemon):
    client, headers = daemon.browser()

    frame = client.get("/", headers={"Cookie": headers["Cookie"]})

    data = re.search(rb'id="data">(.*?)</script>', frame.data)
    assert data is not None
    assert json.loads(data[1]) == {
        "csrf": headers["X-Operable-CSRF"],
        "scopes": ["admin", "approve", "prompt", "read"],
    }
    assert frame.headers["cache-control"] == "no-store"


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
    linked = re.findall(r'(?:href|src)="/web/([^"]+)"', frame)
    assert set(linked) <= set(FILES)
    assert {name for name in FILES if name.endswith(".css")} <= set(linked)


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
