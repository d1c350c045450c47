"""Chromium that is logged in at a daemon, for the tests of the page, and sessions that ask.

Screenshots are kept in `build/screenshots` of the repository, or in the folder that TESTS_SCREENSHOTS names.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.host.scene import steps
from tests.serve.daemon import DaemonUnderTest
from tests.tool.drive import LIMIT

# Without these the browser looks for hosts of its vendor at every start. As root it has no sandbox of its own.
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
SCREENSHOTS = Path(os.environ.get("TESTS_SCREENSHOTS") or Path(__file__).parents[2] / "build" / "screenshots")
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
TOUCH = {"is_mobile": True, "has_touch": True}  # what else a phone is


@contextmanager
def chromium() -> Iterator[Browser]:
    expect.set_options(timeout=60_000)  # a page on a busy machine is slow, not wrong
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=FLAGS.split(), timeout=LIMIT * 1000
        )
        yield launched
        launched.close()


def opened(browser: Browser, daemon: DaemonUnderTest, **options: object) -> Iterator[Page]:
    """A page that is logged in. At its end no script has failed, and nothing was refused by the content policy."""
    context = browser.new_context(viewport=options.pop("viewport", DESKTOP), **options)  # type: ignore[arg-type]
    context.set_default_timeout(LIMIT * 1000)
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on(
        "console", lambda said: problems.append(said.text) if "Content Security Policy" in said.text else None
    )
    page.goto(daemon.admin("POST", "/logins").json["url"])
    page.wait_for_url(f"{daemon.url}/")
    expect(page.locator(".connection")).to_have_class("connection on")
    yield page
    context.close()
    assert problems == []


def ask(command: str) -> dict[str, object]:
    return {"call": "Bash", "args": {"command": command}, "kind": "execute", "ask": True}


def start(daemon: DaemonUnderTest, folder: Path, *script: dict[str, object], label: str) -> str:
    folder.mkdir(exist_ok=True)
    body = {"adapter": "scripted", "cwd": str(folder), "label": label, "prompt": steps(*script)}
    answer = daemon.admin("POST", "/sessions/agent", body)
    assert answer.status == 201, answer
    return str(answer.json["id"])


def state_of(daemon: DaemonUnderTest, session_id: str) -> str:
    return str(daemon.admin.get(f"/sessions/{session_id}").json["state"])


def keep(page: Page, name: str) -> None:
    page.screenshot(path=SCREENSHOTS / f"{name}.png")  # the folder is made where it is missing
