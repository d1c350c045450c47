"""Wrapped commands in the SDK: inputs of any name, cursors that find their place or say that it is gone, plans that hide secrets."""

from pathlib import Path
from typing import Any

import pytest

from operable.kernel.errors import Fail
from operable.manifest import render
from operable.wrap.commands import function
from operable.wrap.plan.model import WrapPlan
from operable.wrap.rows import sought
from operable.wrap.schemas import inputs, params
from tests.wrap.drive import CLI, Made, wrap

PRELUDE = '#!/bin/sh\n[ "$1" = --version ] && { echo 1.0; exit; }\n'


def rows(*batches):
    yield from batches


def test_the_next_page_begins_behind_the_row_in_the_middle_of_a_batch():
    flow = rows([{"n": 1}, {"n": 2}, {"n": 3}], [{"n": 4}])

    assert list(sought(flow, "n", 2)) == [{"n": 3}, {"n": 4}]


def test_a_row_that_is_gone_is_a_conflict():
    with pytest.raises(Fail) as caught:
        list(sought(rows([{"n": 1}]), "n", 7))

    assert caught.value.code == "CURSOR_STALE"


def test_inputs_may_have_the_names_that_the_sdk_uses(tmp_path):
    schema = {"type": "object", "properties": {"context": {"type": "string"}, "page": {"type": "string"}}}
    made = Made(
        tmp_path,
        PRELUDE + 'printf \'{"words":"%s %s"}\\n\' "$2" "$3"\n',
        tool={
            "inputs": schema | {"required": ["context", "page"]},
            "runner": {"cli": "../../CLI.md", "argv": ["go", "${input.context}", "${input.page}"]},
        },
    )

    assert made.go("--context", "a", "--page", "b").results[0]["words"] == "a b"


def test_a_change_hides_secrets_needs_confirmation_and_gets_the_inputs_as_they_were(tmp_path):
    made = Made(
        tmp_path,
        PRELUDE + f"cat > {tmp_path}/read\necho '{{\"done\":true}}'\n",
        tool={
            "inputs": {"type": "object", "properties": {"note": {"type": "string"}}, "required": ["note"]},
            "mutates": ["workspace:."],
            "approval": "always",
            "risk_level": 3,
            "metadata": {
                "operable": {
                    "parse": {"kind": "jsonl"},
                    "secrets": ["note"],
                    "stdin": "told",
                    "plan": {"action": "write", "target": "the note"},
                }
            },
        },
        parser="def told(inputs):\n    return inputs['note'].encode()\n",
    )

    plan = made.go("--note", "verysecret1", "--dry-run")
    refused = made.go("--note", "verysecret1")
    assert not (tmp_path / "read").exists()
    done = made.go("--note", "verysecret1", "--confirm", plan.summary["plan_digest"])

    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert (tmp_path / "read").read_text() == "verysecret1"
    assert done.results[0]["done"] is True
    assert all(b"verysecret1" not in each.stdout for each in (plan, refused, done))


def test_an_input_out_of_its_bounds_is_refused_before_anything_runs(tmp_path):
    made = Made(
        tmp_path,
        PRELUDE + f"touch {tmp_path}/ran\n",
        tool={
            "inputs": {
                "type": "object",
                "properties": {"depth": {"type": "integer", "minimum": 1, "maximum": 9}},
            }
        },
    )

    done = made.go("--depth", "10")

    assert (done.error["category"], done.error["code"]) == ("validation", "INVALID_VALUE")
    assert not (tmp_path / "ran").exists()


def test_pretty_objects_one_after_another_stream_as_they_come(tmp_path):
    """As `kubectl -w -o json` prints them; the program never ends by itself."""
    made = Made(
        tmp_path,
        PRELUDE
        + 'for n in 1 2 3; do printf \'{\\n "n": %s,\\n "in": {"a": [1]}\\n}\\n\' $n; done\nexec sleep 1000\n',
        tool={"metadata": {"operable": {"parse": {"kind": "json"}, "unbounded": True}}},
    )

    done = made.go("--limit", "3")

    assert [event["n"] for event in done.results] == [1, 2, 3]
    assert done.summary["truncated"] is True


def test_the_list_inside_an_object_is_what_comes(tmp_path):
    made = Made(
        tmp_path,
        PRELUDE + 'echo \'{"count": 2, "items": [{"n": 1}, {"type": "x", "n": 2}]}\'\n',
        tool={"metadata": {"operable": {"parse": {"kind": "json", "each": "items"}}}},
    )

    assert made.go().results == [
        {"type": "row", "n": 1},
        {"type": "row", "native_type": "x", "n": 2},
    ]


def test_an_unknown_native_type_is_told_once(tmp_path):
    rules = {
        "kind": "jsonl",
        "type": "k",
        "events": {"known": {"event": "row", "fields": {"n": "a.0.n"}}, "noise": None},
    }
    lines = ['{"k":"known","a":[{"n":1}]}', '{"k":"noise"}', '{"k":"new"}', '{"k":"new"}']
    made = Made(
        tmp_path,
        PRELUDE + "".join(f"echo '{line}'\n" for line in lines),
        tool={"metadata": {"operable": {"parse": rules}}},
    )

    done = made.go()

    assert done.results == [{"type": "row", "n": 1}]
    assert [warning["code"] for warning in done.of("aoi:warning")] == ["UPSTREAM_UNKNOWN_TYPE"]


def test_a_path_is_also_an_option_for_its_bytes():
    schema = {"properties": {"file": {"type": "string", "format": "path"}}, "required": ["file"]}

    assert [param.name for param in params(schema)] == ["file", "file_b64"]
    assert inputs(schema, {"file_b64": "/wo="}) == {"file": "\udcff\n"}
    with pytest.raises(Fail):
        inputs(schema, {"file_b64": "not base64!"})
    with pytest.raises(Fail):
        inputs(schema, {"file_b64": "AA=="})
    with pytest.raises(Fail):
        inputs(schema, {})


def test_a_wrapper_that_shadows_a_bundled_one_wins_when_its_folder_is_named(tmp_path):
    made = Made(tmp_path, PRELUDE + "echo '{\"mine\":true}'\n")
    own = made.path.rename(made.path.parent / "git")
    (own / "CLI.md").write_text(render(CLI | {"name": "git", "id": "git"}, ""))

    assert wrap("git", "go", env=made.env).results == [{"type": "row", "mine": True}]


def read_by(name: str) -> dict[str, Any]:
    return {"metadata": {"operable": {"function": name}}}


def write_files(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)


ROWS = (
    "from .names import named\n\n\n"
    "def go(upstream):\n    for chunk in upstream.chunks():\n        yield {'type': 'row', 'word': named(chunk)}\n"
)


def test_the_parser_of_a_wrapper_may_be_several_files_of_which_a_call_loads_those_it_uses(tmp_path):
    made = Made(tmp_path, PRELUDE + "echo hello\n", tool=read_by("rows.go"))
    write_files(
        made.path,
        rows=ROWS,
        names="def named(chunk):\n    return chunk.decode().strip()\n",
        parser="raise SystemExit('it is not used')\n",
    )

    assert made.go().results == [{"type": "row", "word": "hello"}]


def bare_plan(name, folder):
    """As much of a plan as finding a function needs."""
    return WrapPlan.adopt({"name": name, "folder": str(folder)})


def test_wrappers_of_the_same_name_in_two_folders_do_not_share_their_files(tmp_path):
    plans = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        write_files(
            tmp_path / name,
            rows="def go():\n    from .names import NAME\n\n    return NAME\n",
            names=f"NAME = {name!r}\n",
        )
        plans.append(bare_plan("two-folders", tmp_path / name))
    functions = [function(plan, "rows.go") for plan in plans]

    assert [found() for found in functions] == ["first", "second"]


def test_a_file_that_fails_to_load_is_loaded_again_at_the_next_call(tmp_path):
    plan = bare_plan("broken", tmp_path)
    write_files(tmp_path, rows="raise ValueError\n")
    with pytest.raises(ValueError):  # noqa: PT011 - the file says nothing more
        function(plan, "rows.go")
    write_files(tmp_path, rows="def go():\n    return 'repaired'\n")

    assert function(plan, "rows.go")() == "repaired"


@pytest.mark.parametrize(
    "name, message",
    [
        ("rows.went", "there is no function went"),
        ("absent.go", "there is no parser: No such file or directory"),
        ("../rows.go", "a function is NAME, of parser.py, or FILE.NAME, not '../rows.go'"),
        ("a.rows.go", "a function is NAME, of parser.py, or FILE.NAME, not 'a.rows.go'"),
    ],
)
def test_a_function_that_is_not_beside_the_manifests_is_named(tmp_path, name, message):
    made = Made(tmp_path, PRELUDE, tool=read_by(name))
    write_files(made.path, rows="def go(upstream):\n    yield from ()\n")

    error = made.go().error

    assert (error["code"], error["message"]) == ("WRAPPER_INVALID", message)
