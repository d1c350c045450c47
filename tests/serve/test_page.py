"""The page in a real browser, with a real daemon and a real agent process, as a person uses it.

How sessions are read, found and followed is in `test_page_sessions`.
"""

import re
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.engine.manifests import task
from tests.engine.worker.engines import Engine
from tests.host.scene import steps
from tests.serve.browser import DESKTOP, PHONE, TOUCH, ask, chromium, keep, opened, start, state_of
from tests.serve.daemon import DaemonUnderTest, serving, until, write_agent

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """A flow whose task asks before it runs."""
    folder = tmp_path_factory.mktemp("world")
    home = folder / "home"
    environment = {"OPERABLE_HOME": str(home), "AGENTCLI_HOME": str(home / "flow")}
    return Engine(folder, task("gated", "true", approval={"policy": "manual"}), environment=environment)


@pytest.fixture(scope="module")
def daemon(engine: Engine) -> Iterator[DaemonUnderTest]:
    """Of the same home, with an agent."""
    home = engine.folder / "home"
    write_agent(home, continuation={"default": "none", "supported": ["none", "transcript"]})
    with serving(home, env={"AGENTCLI_HOME": str(home / "flow")}) as started:
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as launched:
        yield launched


@pytest.fixture
def page(browser: Browser, daemon: DaemonUnderTest) -> Iterator[Page]:
    yield from opened(browser, daemon)


def test_a_browser_without_a_login_sees_how_to_log_in(browser, daemon):
    context = browser.new_context()
    page = context.new_page()
    page.goto(daemon.url)

    expect(page.get_by_role("heading")).to_have_text("This browser is not logged in")
    expect(page.locator("meta[name=viewport]")).to_have_attribute("content", re.compile("device-width"))
    context.close()


def test_a_session_is_started_from_the_page_and_its_answer_streams_in(page, daemon):
    page.goto(f"{daemon.url}/#/start")
    page.get_by_label("Agent", exact=True).select_option("scripted")
    page.get_by_label("Name", exact=True).fill("from the page")
    hostile = "Hi <script>document.title='owned'</script> <img src=x onerror=alert(1)> **bold**"
    page.get_by_label("First message").fill(steps({"say": hostile}))
    page.get_by_role("button", name="Start", exact=True).click()

    page.wait_for_url(re.compile("#/session/"))
    said = page.locator(".said")
    expect(said).to_contain_text("<script>document.title='owned'</script>")
    expect(said.locator("strong")).to_have_text("bold")
    assert said.locator("script, img").count() == 0
    expect(page).to_have_title(re.compile("Operable$"))
    keep(page, "session")


def test_one_question_is_allowed_and_another_denied_in_the_inbox(page, daemon, tmp_path):
    yes = start(daemon, tmp_path / "yes", ask("echo yes"), {"say": "ran it"}, label="says yes")
    no = start(daemon, tmp_path / "no", ask("echo no"), {"say": "went on"}, label="says no")
    page.keyboard.press("i")
    rows = page.get_by_role("list", name="Waiting questions").locator(".row")
    expect(rows).to_have_count(2)
    expect(page.locator(".count")).to_have_text("2")
    expect(page).to_have_title(re.compile(r"^\(2\) "))
    keep(page, "inbox")

    rows.filter(has_text="echo yes").get_by_role("link").click()
    expect(page.locator(".detail pre").first).to_have_text("echo yes")
    page.keyboard.press("a")
    expect(rows).to_have_count(1)
    rows.filter(has_text="echo no").get_by_role("link").click()
    page.get_by_role("button", name="Deny…").click()
    page.get_by_role("textbox", name="Deny, and say why").fill("not today")
    page.get_by_role("button", name="Deny", exact=True).click()

    expect(rows.filter(has_text="echo")).to_have_count(0)
    answered = {
        each["command"]: each for each in daemon.admin.get("/approvals?state=answered").json["approvals"]
    }
    assert (answered["echo yes"]["allowed"], answered["echo no"]["allowed"]) == (True, False)
    assert answered["echo no"]["reason"] == "not today"
    until(lambda: {state_of(daemon, session) for session in (yes, no)} == {"idle"})


def test_an_allowance_has_a_reason_and_a_scope(page, daemon, tmp_path):
    session = start(daemon, tmp_path / "w", ask("echo w"), ask("echo w"), {"hang": True}, label="scoped")
    until(lambda: state_of(daemon, session) == "needs_you")
    page.goto(f"{daemon.url}/#/session/{session}")
    expect(page.get_by_role("button", name="Allow while…")).to_be_visible()
    page.keyboard.press("w")
    page.get_by_label("Reason, for the record").fill("we test it")
    page.get_by_role("button", name="Allow exactly this call").click()

    until(lambda: state_of(daemon, session) == "working")
    found = daemon.admin.get("/approvals?state=answered").json["approvals"]
    (answered,) = [each for each in found if each["sourceId"] == session]  # the second was not asked
    assert (answered["allowed"], answered["reason"]) == (True, "we test it")
    daemon.admin("POST", f"/sessions/{session}/kill")


def test_two_questions_are_allowed_at_once(page, daemon, tmp_path):
    sessions = [start(daemon, tmp_path / name, ask(f"echo {name}"), label=name) for name in ("one", "two")]
    page.goto(f"{daemon.url}/#/inbox")
    rows = page.get_by_role("list", name="Waiting questions").locator(".row")
    expect(rows).to_have_count(2)
    for box in rows.get_by_role("checkbox").all():
        box.check()
    page.get_by_role("button", name="Allow all selected").click()

    expect(page.get_by_text("Nothing needs you")).to_be_visible()
    until(lambda: {state_of(daemon, session) for session in sessions} == {"idle"})


def test_a_message_is_queued_the_turn_is_interrupted_and_a_reload_goes_on(page, daemon, tmp_path):
    session = start(daemon, tmp_path / "w", {"say": "before"}, {"hang": True}, label="busy")
    page.goto(f"{daemon.url}/#/session/{session}")
    expect(page.locator(".said")).to_have_text("before")
    box = page.get_by_label("Message", exact=True)
    box.fill(steps({"say": "after"}))
    page.get_by_role("button", name="Queue").click()
    waits = page.get_by_role("list", name="Messages that wait").get_by_role("listitem")
    expect(waits).to_have_count(1)
    box.fill("not this one")
    page.get_by_role("button", name="Queue").click()
    expect(waits).to_have_count(2)
    waits.filter(has_text="not this one").get_by_role("button").click()
    expect(waits).to_have_count(1)
    expect(box).to_have_value("not this one")
    page.get_by_role("button", name="Interrupt", exact=True).click()
    expect(page.locator(".said").last).to_have_text("after")

    page.reload()

    expect(page.locator(".said").last).to_have_text("after")
    expect(page.locator(".said").first).to_have_text("before")
    until(lambda: state_of(daemon, session) == "idle")


def test_a_message_to_a_session_that_has_ended_resumes_it(page, daemon, tmp_path):
    session = start(daemon, tmp_path / "w", {"say": "before"}, label="over")
    until(lambda: state_of(daemon, session) == "idle")
    daemon.admin("POST", f"/sessions/{session}/kill")
    page.goto(f"{daemon.url}/#/session/{session}")
    page.get_by_label("Message", exact=True).fill(steps({"say": "and on"}))
    page.get_by_role("button", name="Resume and send").click()

    page.wait_for_url(lambda url: "#/session/" in url and session not in url)
    expect(page.locator(".said").last).to_have_text("and on")
    expect(page.get_by_text("Goes on from")).to_be_visible()


def test_a_tool_of_the_catalog_runs_from_its_form(page, daemon):
    page.goto(f"{daemon.url}/#/catalog/wrap/df")
    expect(page.locator(".callers")).to_contain_text("MCP clients may call it")
    expect(page.get_by_label("timeout")).to_be_hidden()
    page.get_by_text("More options").click()
    expect(page.get_by_label("timeout")).to_be_visible()
    page.get_by_label("limit").fill("2")
    expect(page.locator(".command pre")).to_have_text("operable wrap df filesystems --limit=2")
    page.get_by_role("button", name="Run", exact=True).click()

    expect(page.locator(".output")).to_contain_text("✓ done")
    keep(page, "catalog")


def test_the_command_line_of_a_form_is_what_one_would_type(page, daemon):
    page.goto(f"{daemon.url}/#/catalog/wrap/git/show")
    page.get_by_label("revision").fill("main's")
    page.get_by_label("patch").check()
    expect(page.locator(".command pre")).to_have_text("operable wrap git show --patch -- 'main'\\''s'")

    page.goto(f"{daemon.url}/#/catalog/flow/flow%2Fgated/trigger")
    page.get_by_label("key").fill("once")

    expect(page.locator(".command pre")).to_have_text("operable engine trigger flow/gated --key=once")


def test_what_is_not_installed_says_how_to_bring_it_and_has_no_form(browser, daemon):
    pages = opened(browser, daemon, viewport=PHONE, **TOUCH)
    page = next(pages)
    page.goto(f"{daemon.url}/#/catalog/agent/aionrs")

    detail = page.locator(".detail")
    expect(detail).to_contain_text("operable agent install aionrs")
    expect(page.get_by_role("button", name="Run", exact=True)).to_have_count(0)
    next(pages, None)


def test_a_flow_is_triggered_and_its_gate_is_approved(page, daemon, engine):
    page.goto(f"{daemon.url}/#/flows/flow")
    page.get_by_role("button", name="Run now").click()
    page.wait_for_url(re.compile("#/run/"))
    expect(page.get_by_role("heading", level=1).first).to_have_text("gated")
    allow = page.get_by_role("button", name="Allow once")
    expect(allow).to_be_visible()
    engine.call("start", "--until-idle")  # the worker adds the files that the approval is for
    asking = page.url
    page.goto(f"{daemon.url}/#/flows/flow")
    expect(page.locator(".graph .node.asking")).to_contain_text("waits for approval")
    expect(page.locator(".strip a").last).to_have_text("●")  # a state is a sign, not a colour alone
    page.goto(asking)
    page.reload()
    allow.click()
    until(lambda: not daemon.admin.get("/approvals").json["approvals"])
    engine.call("start", "--until-idle")

    page.reload()
    expect(page.locator(".head .succeeded").first).to_contain_text("succeeded")
    keep(page, "run")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_every_place_can_be_used_by_all_people(browser, daemon, tmp_path, size, scheme):
    session = start(daemon, tmp_path / "w", {"say": "# Title\n\nText"}, ask("echo x"), label="for all")
    until(lambda: state_of(daemon, session) == "needs_you")
    pages = opened(browser, daemon, viewport=size, color_scheme=scheme, **(TOUCH if size is PHONE else {}))
    page = next(pages)
    for place in (
        "inbox",
        "sessions",
        f"session/{session}",
        "start",
        "catalog",
        "catalog/wrap/df",
        "lint",
        "flows",
        "flows/flow",
        "audit",
    ):
        page.goto(f"{daemon.url}/#/{place}")
        expect(page.locator(".skeleton")).to_have_count(0)
        # The script of axe is put into the page by the browser itself, past the content policy.
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        serious = [each for each in found if each["impact"] in ("serious", "critical")]
        assert serious == [], (place, [(each["id"], each["nodes"][0]["html"]) for each in serious])
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= size["width"], place
        keep(page, f"{place.replace(session, '').replace('/', '-')}-{size['width']}-{scheme}")
    next(pages, None)
    daemon.admin("POST", f"/sessions/{session}/kill")
