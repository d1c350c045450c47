"""How sessions are read, found and answered in the page; and what it does when there is much, or no connection."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.serve.browser import ask, chromium, keep, opened, start, state_of
from tests.serve.daemon import DaemonUnderTest, serving, until, write_agent, write_session

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.timeout(900)]

OLD = 205  # sessions; the frame has the newest 200
LISTS = re.compile(r"/(sessions|approvals)\?")
EVENTS = re.compile(r"/events\?")
RULES = """\
allow = ["kind:read", "kind:edit", "execute:pytest*"]
ask = [{ pattern = "execute:npm publish*", reason = "releases are for people" }]
"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonUnderTest]:
    home = tmp_path_factory.mktemp("home")
    write_agent(home)
    (home / "config" / "policy.toml").write_text(RULES)
    with serving(home) as started:
        for number in range(OLD):
            begun = f"2026-01-01T00:{number // 60:02}:{number % 60:02}.000Z"
            write_session(started, f"ses_old{number:03}", [], label=f"old {number:03}", started_at=begun)
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as launched:
        yield launched


@pytest.fixture
def page(browser: Browser, daemon: DaemonUnderTest) -> Iterator[Page]:
    yield from opened(browser, daemon)


def test_the_first_view_needs_no_request_and_a_long_list_makes_the_rows_one_sees(page, daemon):
    page.route(LISTS, lambda route: route.abort())
    page.goto(f"{daemon.url}/#/inbox")
    page.reload()
    expect(page.get_by_role("heading", name="Nothing needs you")).to_be_visible()
    page.keyboard.press("s")
    ended = page.get_by_role("list", name="ended")
    expect(page.locator("h2.group:visible")).to_have_text(["✓ended 200"])
    made = ended.locator(".row").count()
    assert 0 < made < 200

    ended.locator(".row").last.scroll_into_view_if_needed()
    expect(ended.locator(".row").nth(made)).to_be_attached()
    page.unroute(LISTS)
    page.keyboard.press("/")
    page.keyboard.type("old 003")

    expect(ended.locator(".row")).to_have_count(1)
    expect(ended.locator(".row .name")).to_have_text("old 003")


def test_a_turn_is_read_with_its_thoughts_calls_and_changes_and_each_has_a_link(page, daemon, tmp_path):
    change = {"file_path": "a.py", "old_string": "one\nsame\n", "new_string": "two\nsame\n"}
    session = start(
        daemon,
        tmp_path / "w",
        {"think": "Where is it?"},
        {"say": "I change it."},
        {"call": "Edit", "args": change, "kind": "edit", "ask": True},
        {
            "call": "Bash",
            "args": {"command": "pytest -q"},
            "kind": "execute",
            "ask": True,
            "result": "x" * 9000,
        },
        {"say": "Done."},
        label="reads well",
    )
    until(lambda: state_of(daemon, session) == "idle")
    page.goto(f"{daemon.url}/#/session/{session}")
    expect(page.locator(".said")).to_have_text(["I change it.", "Done."])
    thought, edit, run = page.locator("details.card").all()
    expect(thought.locator("summary")).to_have_text("thought · 12 B")
    expect(thought.locator("pre")).to_be_hidden()

    edit.locator("summary").click()
    expect(edit.locator(".diff .removed")).to_have_text("− one")
    expect(edit.locator(".diff .added")).to_have_text("+ two")
    expect(run.locator("summary")).to_contain_text("pytest -q")
    run.locator("summary").click()
    run.get_by_role("button", name="Show all of it (8.8 KiB)").click()
    expect(run.locator("pre").last).to_have_text("x" * 9000)
    keep(page, "cards")
    run.get_by_role("link", name="link to this call").click()

    page.wait_for_url(re.compile(rf"#/session/{session}/\d+$"))
    expect(page.locator("details.card.wanted summary")).to_contain_text("pytest -q")
    expect(page.locator("details.card.wanted")).to_have_attribute("open", "")


def test_a_wider_answer_says_what_it_covers_and_the_same_call_is_not_asked_again(page, daemon, tmp_path):
    same = ask("npm publish --access public")
    session = start(daemon, tmp_path / "w", same, same, {"say": "both"}, label="publishes")
    page.goto(f"{daemon.url}/#/inbox")
    expect(page.get_by_role("list", name="Waiting questions")).to_contain_text("npm publish")
    page.keyboard.press("ArrowDown")
    facts = page.locator(".facts")
    expect(facts).to_contain_text("releases are for people")
    expect(facts).to_contain_text("none: it has all your rights")
    expect(facts).to_contain_text("not since the daemon started")
    expect(page.locator("#icon")).to_have_attribute("href", re.compile("%3E1%3C%2Ftext"))
    page.keyboard.press("w")
    page.get_by_label("Reason, for the record").fill("release day")
    page.get_by_role("button", name="exactly this call").click()

    until(lambda: state_of(daemon, session) == "idle")
    expect(page.locator(".outcome")).to_contain_text("“release day”")
    known = daemon.admin.get("/approvals?state=answered").json["approvals"]
    assert [each["sourceId"] for each in known].count(session) == 1


def test_a_question_that_changed_is_shown_again_and_one_that_may_not_answer_sees_why(page, daemon, tmp_path):
    session = start(daemon, tmp_path / "w", ask("echo first"), label="changes")
    page.goto(f"{daemon.url}/#/inbox")
    expect(page.get_by_role("list", name="Waiting questions")).to_contain_text("echo first")
    page.keyboard.press("ArrowDown")
    refusal = '{"error": {"code": "ASK_CHANGED", "category": "conflict", "message": "changed"}}'
    page.route("**/answer", lambda route: route.fulfill(status=409, body=refusal), times=1)
    page.get_by_role("button", name="Allow once").click()
    expect(page.get_by_role("alert")).to_contain_text("It changed since it was shown, and was not answered")
    assert state_of(daemon, session) == "needs_you"

    def without_approve(route):
        answer = route.fetch()
        text = answer.text().replace('"admin","approve",', "")
        route.fulfill(response=answer, body=text)

    page.route(f"{daemon.url}/", without_approve)
    page.reload()

    expect(page.locator(".question")).to_contain_text("its token has no scope `approve`")
    expect(page.get_by_role("button", name="Allow once")).to_have_count(0)
    daemon.admin("POST", f"/sessions/{session}/kill")


def test_a_session_is_renamed_pinned_and_replied_to_from_the_list(page, daemon, tmp_path):
    session = start(daemon, tmp_path / "w", {"say": "first"}, label="plain")
    page.goto(f"{daemon.url}/#/sessions")
    row = page.get_by_role("list", name="idle").locator(".row").filter(has_text="plain")
    row.get_by_role("link").focus()
    page.keyboard.press("e")
    page.get_by_role("textbox", name="Name of the session").fill("named")
    page.keyboard.press("Enter")
    named = page.get_by_role("list", name="idle").locator(".row").filter(has_text="named")
    named.get_by_role("button", name="Actions for named").click()
    page.get_by_role("button", name="Pin to the top").click()
    expect(named.locator(".pin")).to_be_visible()
    named.get_by_role("link").focus()
    page.keyboard.press("r")
    page.get_by_role("textbox", name="Reply").fill('SCRIPT:[{"say": "second"}]')
    page.keyboard.press("Enter")

    expect(named.locator(".what")).to_have_text("second")
    view = daemon.admin.get(f"/sessions/{session}").json
    assert (view["label"], view["pinned"], view["turns"]) == ("named", True, 2)


def test_a_lost_connection_says_so_and_catches_up_without_a_reload(page, daemon, tmp_path):
    page.route(EVENTS, lambda route: route.abort())
    page.reload()
    session = start(daemon, tmp_path / "w", ask("echo meanwhile"), label="meanwhile")
    until(lambda: state_of(daemon, session) == "needs_you")
    expect(page.locator("#banner")).to_contain_text("what you see")

    page.unroute(EVENTS)

    expect(page.get_by_role("list", name="Waiting questions")).to_contain_text("echo meanwhile")
    expect(page.locator("#banner")).to_be_empty()
    daemon.admin("POST", f"/sessions/{session}/kill")


def test_the_audit_verifies_each_record_opens_and_lint_and_keys_are_there(page, daemon, tmp_path):
    session = start(daemon, tmp_path / "w", {"say": "x"}, label="audited")
    until(lambda: state_of(daemon, session) == "idle")
    page.goto(f"{daemon.url}/#/audit")
    record = page.locator(".row summary").filter(has_text="session.start").first
    record.click()
    expect(page.locator(".sealed pre").first).to_contain_text('"action": "session.start"')
    page.keyboard.press("v")
    expect(page.get_by_text("none is missing, up to the sealed head")).to_be_visible()
    page.locator(".sealed").get_by_role("link", name="link to this record").click()
    expect(page.locator(".sealed pre").first).to_contain_text("session.start")

    page.goto(f"{daemon.url}/#/lint")
    expect(page.get_by_role("row", name=re.compile("^git"))).to_contain_text("keeps it")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("start a session")


def test_the_start_offers_what_the_agent_has_and_says_that_nothing_confines_it(page, daemon):
    page.goto(f"{daemon.url}/#/start/operable-agent")

    expect(page.get_by_label("Mode", exact=True)).to_contain_text("auto-edit")
    expect(page.get_by_label("Sandbox", exact=True)).to_be_visible()
    expect(page.locator(".meaning.needs_you")).to_contain_text("all rights of the user")
    keep(page, "start-choices")


def test_a_session_that_failed_says_why_and_what_to_do(page, daemon, tmp_path):
    unasked = ask("seq 3") | {"ask": False, "result": "1"}
    session = start(daemon, tmp_path / "w", unasked, label="went ahead")
    until(lambda: state_of(daemon, session) == "failed")
    page.goto(f"{daemon.url}/#/session/{session}")

    failure = page.get_by_role("complementary").get_by_role("alert")
    expect(failure).to_contain_text("Bash (execute) ran without having asked")
    expect(failure).to_contain_text("start it in a sandbox")
