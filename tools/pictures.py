"""The pictures of the page in the guides: `python -m tools.pictures` takes them anew, of a real daemon in Chromium.

What is on them is made for them: three sessions of the agent that comes with Operable, on its scripted model, and a flow.
They are taken by hand after a change of the page, because no two runs give the same bytes.
"""

import json
import tempfile
import time
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs" / "guides" / "pictures"
SIZE: Any = {"width": 1040, "height": 600}
PHONE: Any = {"width": 390, "height": 640}
LIMIT = 60.0
RULES = """\
allow = ["kind:read", "execute:pytest*"]
deny = [{ pattern = "execute:rm *", reason = "agents delete nothing" }]
ask = [
  { pattern = "execute:npm publish*", reason = "a person releases" },
  { pattern = "kind:edit", reason = "changes are read first" },
]
"""
BEFORE = "def total(items):\n    return sum(items)\n"
AFTER = "def total(items: list[float]) -> float:\n    return round(sum(items), 2)\n"


def main() -> int:
    from playwright.sync_api import sync_playwright

    from tests.engine.manifests import task
    from tests.engine.worker.engines import Engine
    from tests.serve.browser import FLAGS
    from tests.serve.daemon import serving

    with tempfile.TemporaryDirectory(prefix="code-") as made:
        folder = Path(made)
        home = folder / "home"
        (home / "config").mkdir(parents=True)
        (home / "config" / "policy.toml").write_text(RULES)
        variables = {"OPERABLE_HOME": str(home), "AGENTCLI_HOME": str(home / "flow")}
        after = {"trigger": {"parent": "build", "on": "success"}}
        tasks = (
            task("build", "echo", "built"),
            task("test", "sh", "-c", "echo '2 of 340 failed'; exit 1", **after),
            task("release", "true", approval={"policy": "manual"}, **after),
        )
        engine = Engine(folder, *tasks, environment=variables)
        with serving(home, env=variables) as daemon, sync_playwright() as browsers:
            question = _fill(daemon, engine, folder)
            browser = browsers.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS.split())
            pictures: tuple[tuple[str, Any, Any, str], ...] = (
                ("inbox", SIZE, "light", f"inbox/{question['id']}"),
                ("session", SIZE, "dark", f"session/{question['sourceId']}"),
                ("flow", SIZE, "light", "flows/flow"),
                ("phone", PHONE, "dark", f"inbox/{question['id']}"),
            )
            for name, size, scheme, place in pictures:
                context = browser.new_context(viewport=size, color_scheme=scheme)
                page = context.new_page()
                page.goto(daemon.admin("POST", "/logins").json["url"])
                page.wait_for_url(f"{daemon.url}/")
                page.goto(f"{daemon.url}/#/{place}")
                page.wait_for_timeout(1500)
                FOLDER.mkdir(exist_ok=True)
                page.screenshot(path=FOLDER / f"{name}.png")
                context.close()
            browser.close()
    return 0


def _fill(daemon: Any, engine: Any, folder: Path) -> Any:
    """Sessions that ask, work and have ended, and runs; the question that the pictures show."""
    shop = folder / "web-shop"
    shop.mkdir()
    (shop / "prices.py").write_text(BEFORE)
    edit = {"file_path": str(shop / "prices.py"), "old_string": BEFORE, "new_string": AFTER}
    say = "I give the function **types**, and round its result:\n\n1. change `total`\n2. run the tests"
    _start(daemon, shop, "publish 2.1", 'call Bash {"command": "npm publish --access public"}')
    _start(daemon, shop, "answer a mail", "say All three questions are answered.")
    lines = [f"say {line}" for line in say.splitlines()]
    lines += ['call Read {"file_path": "prices.py"}', 'call Bash {"command": "rm -rf build"}']
    session = _start(daemon, shop, "round the prices", *lines, f"call Edit {json.dumps(edit)}")
    job = next(each for each in daemon.admin.get("/flows/flow").json["jobs"] if each["name"] == "build")
    for _ in range(2):
        daemon.admin("POST", f"/jobs/{job['id']}/trigger", {})
        engine.call("start", "--until-idle")
    ends = time.monotonic() + LIMIT
    while time.monotonic() < ends:
        for each in daemon.admin.get("/approvals").json["approvals"]:
            if each["sourceId"] == session:
                return each
        time.sleep(0.2)
    raise SystemExit("the agent did not ask")


def _start(daemon: Any, folder: Path, label: str, *lines: str) -> str:
    body = {
        "adapter": "operable-agent",
        "cwd": str(folder),
        "label": label,
        "options": {"provider": "offline"},
        "prompt": "\n".join(["script:", *lines]),
    }
    answer = daemon.admin("POST", "/sessions/agent", body)
    if answer.status != 201:
        raise SystemExit(str(answer))
    return str(answer.json["id"])


if __name__ == "__main__":
    raise SystemExit(main())
