"""The page by keyboard alone, and what it says where there is nothing to show."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.serve.browser import ask, chromium, opened, start, state_of
from tests.serve.daemon import DaemonUnderTest, serving, until, write_agent

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonUnderTest]:
    home = tmp_path_factory.mktemp("home")
    write_agent(home)
    with serving(home) as started:
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as launched:
        yield launched


@pytest.fixture
def page(browser: Browser, daemon: DaemonUnderTest) -> Iterator[Page]:
    yield from opened(browser, daemon)


def test_selected_questions_are_allowed_by_one_key_and_the_others_wait(page, daemon, tmp_path):
    names = ("one", "two", "three")
    sessions = [start(daemon, tmp_path / name, ask(f"echo {name}"), label=name) for name in names]
    page.goto(f"{daemon.url}/#/inbox")
    rows = page.get_by_role("list", name="Waiting questions").locator(".row")
    expect(rows).to_have_count(3)
    # A question is shown only where the inbox was opened after it was asked: the first, whichever came first.
    page.keyboard.press("ArrowUp")
    expect(rows.first).to_have_attribute("aria-current", "true")
    for key in ("x", "ArrowDown", "x"):
        page.keyboard.press(key)
    expect(page.get_by_text("2 selected")).to_be_visible()

    page.keyboard.press("a")

    expect(rows).to_have_count(1)
    until(lambda: sorted(state_of(daemon, session) for session in sessions) == ["idle", "idle", "needs_you"])
    page.keyboard.press("x")  # the one that is shown was answered, and is not selected by it
    expect(page.get_by_role("button", name="Allow all selected")).to_have_count(0)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("a")
    expect(page.get_by_text("Nothing needs you")).to_be_visible()


def test_one_escape_closes_the_palette_and_what_fits_nothing_is_said(page, daemon):
    page.keyboard.press("Control+k")
    page.keyboard.type("there is no such thing")
    expect(page.get_by_text("Nothing fits.")).to_be_visible()

    page.keyboard.press("Escape")

    expect(page.locator("dialog")).to_have_count(0)
    page.keyboard.press("s")
    expect(page.get_by_role("heading", name="Sessions", exact=True)).to_be_visible()


def test_an_address_of_a_session_that_does_not_exist_says_so_and_leads_back(page, daemon):
    page.goto(f"{daemon.url}/#/session/ses_nothere")

    expect(page.locator(".problem").filter(has_text="NO_SUCH_SESSION")).to_be_in_viewport()
    expect(page.locator(".skeleton")).to_have_count(0)
    page.get_by_role("link", name="All sessions").click()
    page.goto(f"{daemon.url}/#/nowhere")
    page.get_by_role("link", name="To the inbox").click()
    expect(page.get_by_role("heading", name="Inbox")).to_be_visible()


def test_a_reply_from_the_list_has_a_line_of_its_own_and_waits_while_the_agent_is_busy(
    page, daemon, tmp_path
):
    session = start(daemon, tmp_path / "busy", {"say": "begun"}, {"hang": True}, label="busy one")
    page.keyboard.press("s")
    row = page.locator(".row").filter(has_text="busy one")
    row.get_by_role("link").focus()

    page.keyboard.press("r")

    name, box = row.locator(".name").bounding_box(), row.get_by_label("Reply").bounding_box()
    assert name
    assert box
    assert box["y"] >= name["y"] + name["height"]
    expect(row.get_by_label("Reply")).to_have_attribute("placeholder", "Enter queues it")
    page.keyboard.type("later")
    page.keyboard.press("Enter")
    until(lambda: daemon.admin.get(f"/sessions/{session}").json.get("queued") == 1)
    daemon.admin("POST", f"/sessions/{session}/kill")
