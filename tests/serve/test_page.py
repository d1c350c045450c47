"""The page in a real browser, with a real daemon and a real agent process, as a person uses it.

Screenshots are kept where OPERABLE_SCREENSHOTS names a folder.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.engine.manifests import task
from tests.engine.worker.engines import Engine
from tests.host.scene import steps
from tests.serve.daemon import DaemonUnderTest, serving, until, write_agent
from tests.tool.drive import LIMIT

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.timeout(900)]

# Without these the browser looks for hosts of its vendor at every start. As root it has no sandbox of its own.
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}


def ask(command: str) -> dict[str, object]:
    return {"call": "Bash", "args": {"command": command}, "kind": "execute", "ask": True}


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
    write_agent(home)
    with serving(home, env={"AGENTCLI_HOME": str(home / "flow")}) as started:
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=FLAGS.split(), timeout=LIMIT * 1000
        )
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Browser, daemon: DaemonUnderTest) -> Iterator[Page]:
    yield from opened(browser, daemon)


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
    expect(page.locator(".connection")).to_have_class("connection on", timeout=LIMIT * 1000)
    yield page
    context.close()
    assert problems == []


def start(daemon: DaemonUnderTest, folder: Path, *script: dict[str, object], label: str) -> str:
    folder.mkdir(exist_ok=True)
    body = {"adapter": "scripted", "cwd": str(folder), "label": label, "prompt": steps(*script)}
    answer = daemon.admin("POST", "/sessions/agent", body)
    assert answer.status == 201, answer
    return str(answer.json["id"])


def state_of(daemon: DaemonUnderTest, session_id: str) -> str:
    return str(daemon.admin.get(f"/sessions/{session_id}").json["state"])


def keep(page: Page, name: str) -> None:
    if folder := os.environ.get("OPERABLE_SCREENSHOTS"):
        page.screenshot(path=os.path.join(folder, f"{name}.png"))


def test_a_browser_without_a_login_sees_how_to_log_in(browser, daemon):
    context = browser.new_context()
    page = context.new_page()
    page.goto(daemon.url)

    expect(page.get_by_role("heading")).to_have_text("This browser is not logged in")
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
    expect(page.get_by_text("1 queued")).to_be_visible()
    page.get_by_role("button", name="Interrupt", exact=True).click()
    expect(page.locator(".said").last).to_have_text("after")

    page.reload()

    expect(page.locator(".said").last).to_have_text("after")
    expect(page.locator(".said").first).to_have_text("before")
    until(lambda: state_of(daemon, session) == "idle")


def test_a_tool_of_the_catalog_runs_from_its_form(page, daemon):
    page.goto(f"{daemon.url}/#/catalog/wrap/df")
    page.get_by_role("link").filter(has_text="list").first.click()
    page.get_by_role("button", name="Run", exact=True).click()

    expect(page.locator(".output")).to_contain_text("✓ done")
    keep(page, "catalog")


def test_a_flow_is_triggered_and_its_gate_is_approved(page, daemon, engine):
    page.goto(f"{daemon.url}/#/flows/flow")
    page.get_by_role("button", name="Run now").click()
    page.wait_for_url(re.compile("#/run/"))
    expect(page.get_by_role("heading", level=1).first).to_have_text("gated")
    allow = page.get_by_role("button", name="Allow once")
    expect(allow).to_be_visible()
    engine.call("start", "--until-idle")  # the worker adds the files that the approval is for
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
    pages = opened(browser, daemon, viewport=size, color_scheme=scheme)
    page = next(pages)
    for place in (
        "inbox",
        "sessions",
        f"session/{session}",
        "start",
        "catalog",
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
        keep(page, f"{place.split('/')[0]}-{size['width']}-{scheme}")
    next(pages, None)
    daemon.admin("POST", f"/sessions/{session}/kill")
