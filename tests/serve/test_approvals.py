"""What waits for a person, as every surface shows it: the inbox, HTTP and the page."""

import json
from pathlib import Path

from tests.cli.drive import operable
from tests.engine.manifests import task
from tests.engine.worker.engines import Engine

WORD = "zEbraQuiltNinetyOne7"


def test_the_question_of_a_run_says_what_would_run_without_its_secrets(tmp_path: Path) -> None:
    words = ("curl", "-H", f"Authorization: Bearer {WORD}", "--token", WORD, f"https://u:{WORD}@h.example/")
    engine = Engine(tmp_path, task("a", *words, approval={"policy": "manual"}))
    engine.trigger("a")

    listed = operable("inbox", "list", env=engine.environment, cwd=tmp_path)

    (item,) = listed.of("inbox_item")
    assert item["command"].startswith("curl -H ")
    assert item["command"].endswith("@h.example/'")
    assert WORD not in json.dumps(listed.results)
