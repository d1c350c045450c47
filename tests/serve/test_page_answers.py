"""A person answers what a person sees, and learns what became of it."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.cli.drive import running
from tests.serve.browser import ask, chromium, opened, start, state_of
from tests.serve.daemon import DaemonUnderTest, serving, until, write_agent
from tests.tool.drive import LIMIT

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


def commands(daemon: DaemonUnderTest, session: str) -> list[str]:
    waiting = daemon.admin.get("/approvals").json["approvals"]
    return [each["command"] for each in waiting if each["sourceId"] == session]


def test_a_key_answers_no_question_that_is_out_of_sight(page, daemon, tmp_path):
    long: dict[str, object] = {"say": "word " * 2000}
    session = start(daemon, tmp_path / "w", long, ask("echo seen"), {"hang": True}, label="long")
    until(lambda: commands(daemon, session))
    page.goto(f"{daemon.url}/#/session/{session}")
    card = page.get_by_role("article")
    expect(card).to_be_in_viewport()
    page.evaluate("window.scrollTo(0, 0)")
    expect(card).not_to_be_in_viewport()

    page.keyboard.press("a")

    expect(card.locator(".asked")).to_be_in_viewport()
    assert commands(daemon, session) == ["echo seen"]
    page.keyboard.press("a")
    until(lambda: commands(daemon, session) == [])
    daemon.admin("POST", f"/sessions/{session}/kill")


def test_a_dialog_says_what_it_is_about_and_does_not_outlive_its_place(page, daemon, tmp_path):
    session = start(daemon, tmp_path / "w", ask("echo dialog"), {"hang": True}, label="asks")
    until(lambda: commands(daemon, session))
    page.goto(f"{daemon.url}/#/sessions")
    page.goto(f"{daemon.url}/#/session/{session}")
    expect(page.get_by_role("button", name="Allow while…")).to_be_visible()
    page.keyboard.press("w")
    expect(page.get_by_role("dialog")).to_contain_text("run echo dialog")

    page.go_back()

    expect(page.get_by_role("heading", name="Sessions", exact=True)).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert commands(daemon, session) == ["echo dialog"]
    daemon.admin("POST", f"/sessions/{session}/kill")


def test_a_command_is_shown_whole_and_in_its_real_order(page, daemon, tmp_path):
    command = "echo " + "long " * 1500 + "\u202e; rm -rf \u2066~"
    session = start(daemon, tmp_path / "w", ask(command), {"hang": True}, label="\u202etxt.exe")
    until(lambda: commands(daemon, session))
    page.goto(f"{daemon.url}/#/inbox")
    page.get_by_role("list", name="Waiting questions").get_by_role("link").first.click()

    shown = page.locator(".detail .subject")
    expect(shown).to_contain_text("⟨U+202E⟩; rm -rf ⟨U+2066⟩~")
    assert shown.evaluate("element => element.scrollHeight <= element.clientHeight")
    expect(page.get_by_role("heading", name="⟨U+202E⟩txt.exe")).to_be_visible()
    below = page.get_by_text("It goes on below")
    expect(below).to_be_visible()
    page.locator(".end-of-asked").scroll_into_view_if_needed()
    page.locator(".detail").evaluate("element => element.scrollTo(0, element.scrollHeight)")
    expect(below).to_be_hidden()
    daemon.admin("POST", f"/sessions/{session}/kill")


def test_an_answer_that_comes_too_late_shows_that_of_the_other_person(page, daemon, tmp_path):
    session = start(daemon, tmp_path / "w", ask("echo twice"), {"hang": True}, label="asked")
    until(lambda: commands(daemon, session))
    page.goto(f"{daemon.url}/#/inbox")
    waiting = page.get_by_role("list", name="Waiting questions").get_by_role("listitem")
    waiting.filter(has_text="echo twice").get_by_role("link").click()

    def later(route: Route) -> None:
        question = next(each for each in daemon.admin.get("/approvals").json["approvals"])
        body = {"allowed": False, "reason": "I was first", "digest": question["digest"]}
        assert daemon.admin("POST", f"/approvals/{quote(question['id'])}/answer", body).status == 200
        route.continue_()

    page.route("**/answer", later)
    page.keyboard.press("a")

    expect(waiting).to_have_count(0)
    expect(page.locator(".detail .outcome")).to_contain_text("I was first")
    expect(page.get_by_role("button", name="Allow once")).to_have_count(0)
    daemon.admin("POST", f"/sessions/{session}/kill")


def test_what_was_typed_is_there_when_one_comes_back(page, daemon, tmp_path):
    session = start(daemon, tmp_path / "w", {"say": "hello"}, label="drafted")
    page.goto(f"{daemon.url}/#/session/{session}")
    page.get_by_label("Message", exact=True).fill("half a thought")
    page.get_by_role("link", name="Inbox").click()
    expect(page.get_by_role("heading", name="Inbox")).to_be_visible()

    page.go_back()

    expect(page.get_by_label("Message", exact=True)).to_have_value("half a thought")
    page.keyboard.press("r")
    page.keyboard.press("Enter")
    until(lambda: "half a thought" in str(daemon.admin.get(f"/sessions/{session}/events").json))
    page.reload()
    expect(page.get_by_label("Message", exact=True)).to_have_value("")


def test_a_start_that_fails_says_so_where_one_looks(page, daemon, tmp_path):
    page.set_viewport_size({"width": 1280, "height": 500})
    page.goto(f"{daemon.url}/#/start")
    page.get_by_label("Agent", exact=True).select_option("scripted")
    page.get_by_label("Folder", exact=True).select_option(label="another folder…")
    page.get_by_label("Path of the folder").fill(str(tmp_path / "nowhere"))
    page.get_by_role("button", name="Start", exact=True).click()

    expect(page.get_by_role("alert").filter(has_text="is not a folder").first).to_be_in_viewport()


def test_an_old_link_leads_on_or_says_how_to_log_in(browser, page, daemon):
    link = daemon.admin("POST", "/logins").json["url"]
    context = browser.new_context()
    stranger = context.new_page()
    stranger.goto(link)
    stranger.wait_for_url(f"{daemon.url}/")
    context.clear_cookies()

    stranger.goto(link)
    expect(stranger.get_by_role("heading")).to_have_text("This browser is not logged in")
    expect(stranger.get_by_text("it works once")).to_be_visible()
    context.close()
    page.goto(link)
    page.wait_for_url(f"{daemon.url}/")
    expect(page.get_by_role("heading", name="Inbox")).to_be_visible()


def test_a_page_that_stays_open_learns_what_a_restart_of_the_daemon_ended(browser, tmp_path):
    home = tmp_path / "home"
    write_agent(home)
    with serving(home) as first:
        pages = opened(browser, first)
        page = next(pages)
        session = start(first, tmp_path / "w", ask("echo gone"), {"hang": True}, label="asks")
        until(lambda: state_of(first, session) == "needs_you")
        page.get_by_role("list", name="Waiting questions").get_by_role("link").click()
        expect(page.get_by_role("button", name="Allow once")).to_be_visible()
        first.process.terminate()
        first.process.wait(LIMIT)

        page.keyboard.press("a")

        expect(page.locator(".detail .problem")).to_contain_text("cannot be reached")
        address = first.url.removeprefix("http://")
        with running("serve", "--listen", address, env={"OPERABLE_HOME": str(home)}) as second:
            second.event("daemon_serving")
            expect(page.get_by_text("Nothing needs you")).to_be_visible()
            page.goto(f"{first.url}/#/session/{session}")
            expect(page.locator(".session .head")).to_contain_text("ended")
            assert next(pages, None) is None
