"""How soon the page of the daemon shows something: from the navigation to the first paint, in Chromium on loopback.

With 200 sessions in the frame. The first paint with content has the bar and the count; the inbox is there with its rows
when the modules have run, because nothing else is asked for. A first visit has an empty cache, a later one has the modules.
Each figure is the median of the rounds.
"""

import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from bench._figures import Row, print_rows

NEEDS = ("chromium",)
_INBOX = "performance.getEntriesByName('first-view')[0].startTime"
SESSIONS = 200
ROUNDS = 7
TARGET = 300.0  # milliseconds
_FLAGS = (
    "--no-sandbox --disable-gpu --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


def main() -> int:
    """Print the table; 1 when the target is missed."""
    from playwright.sync_api import sync_playwright

    from tests.serve.daemon import serving, write_session

    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder)) as daemon,
        sync_playwright() as browsers,
    ):
        for number in range(SESSIONS):
            write_session(daemon, f"ses_{number:03}", [], label=f"session {number}")
        browser = browsers.chromium.launch(executable_path="/usr/bin/chromium", args=_FLAGS.split())
        figures = [_visit(browser, daemon) for _ in range(ROUNDS)]
        browser.close()
    shown = ("first visit, paint", "first visit, inbox", "later visit, paint", "later visit, inbox")
    times = [median(column) for column in zip(*figures, strict=True)]
    rows = [
        Row(what, time / TARGET, 1 if what.endswith("paint") else None, f"{time:.0f} ms")
        for what, time in zip(shown, times, strict=True)
    ]
    print(f"{SESSIONS} sessions; times by {TARGET:.0f} ms")
    return print_rows(rows)


def _visit(browser: Any, daemon: Any) -> tuple[float, ...]:
    """Milliseconds until the first paint and until the inbox, of a new profile and of the same one again."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    try:
        page = context.new_page()
        page.goto(daemon.admin("POST", "/logins").json["url"])
        page.wait_for_url(f"{daemon.url}/")
        first = _figures(page)
        page.goto("about:blank")
        page.goto(daemon.url)
        return *first, *_figures(page)
    finally:
        context.close()


def _figures(page: Any) -> tuple[float, float]:
    page.wait_for_selector(".place .side")
    return page.evaluate(_PAINT), page.evaluate(_INBOX)
