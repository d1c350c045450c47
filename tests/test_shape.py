"""The limits of `tools/shape.py`: the tree keeps them, and each kind of finding is found in a tree that has it."""

import tomllib
from pathlib import Path

import pytest

from tools import shape
from tools.mechanisms import MECHANISMS

# One copy of each mechanism, as a module outside its owner would write it.
COPIES = {
    "caches by fingerprint": "import marshal\nvalue = marshal.loads(b'N')\n",
    "JSON lines that survive lone surrogates": "import json\nline = json.dumps('x').encode('utf-8', 'replace')\n",
    "masking secrets": "from operable.kernel.redact import MASK\ntext = 'x'.replace('secret', MASK)\n",
    "fetching secrets": "import keyring\nvalue = keyring.get_password('service', 'user')\n",
    "locks": "import fcntl\nfcntl.flock(3, fcntl.LOCK_EX)\n",
    "whole-file writes": "import os\nos.replace('draft', 'file')\n",
    "paths": "import os\nhome = os.environ.get('OPERABLE_HOME')\n",
    "running a child to its end": "from operable.proc.child import Child\nchild = Child(None)\n",
    "results of children": "class Ran:\n    stdout: bytes\n    stderr: str\n    status: int | None\n",
    "enclosures": "from operable.proc.sandbox.egress.proxy import Proxy\nproxy = Proxy(())\n",
    "options of a start": "async def talk(agent, given):\n    return await agent.start(**given)\n",
    "states of a session": "from operable.host.session.turn_table import TurnState\n",
    "changes with a payload": "from operable.tool import Change\nclass Larger(Change):\n    given: dict\n",
    "consent to content": "def f(approved, digest):\n    return approved['digest'] == digest\n",
    "JSON-RPC envelopes": "answer = {'jsonrpc': '2.0', 'id': 1, 'result': None}\n",
    "strict JSON reading": "import json\nvalue = json.loads('1', parse_constant=float)\n",
    "lines out of bytes": "*lines, rest = b'a\\nb'.split(b'\\n')\n",
}


def _tree(folder: Path, files: dict[str, str]) -> dict[str, dict[str, int]]:
    for name, text in files.items():
        path = folder / "operable" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return {kind: numbers for kind, numbers in shape.findings(shape.read(folder)).items() if numbers}


def test_the_tree_has_nothing_wrong_that_the_limits_do_not_list():
    found = shape.findings(shape.read(shape.SOURCE))

    assert shape.excess(found, tomllib.loads(shape.RATCHET.read_text("utf-8"))) == []


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda each: each.name)
def test_a_second_copy_of_a_mechanism_is_found_and_its_owner_is_named(tmp_path, mechanism):
    found = _tree(tmp_path, {"host/copy.py": COPIES[mechanism.name]})

    assert found == {f"copies of {mechanism.name}": {"operable.host.copy": 1}}
    assert shape.excess(found, {}) == [
        f"copies of {mechanism.name}: operable.host.copy (1, allowed 0): {mechanism.hint}"
    ]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda each: each.name)
def test_the_owner_of_a_mechanism_may_have_it(tmp_path, mechanism):
    file = mechanism.owners[0].removeprefix("operable.").replace(".", "/") + ".py"

    assert _tree(tmp_path, {file: COPIES[mechanism.name]}) == {}


def test_a_folder_over_the_limit_is_found_unless_it_is_a_catalogue(tmp_path):
    flat = {f"flat/m{n}.py": "x = 1\n" for n in range(shape.FOLDER_LIMIT + 1)}
    catalogue = {f"checks/m{n}.py": "CHECK = 1\n" for n in range(shape.FOLDER_LIMIT + 1)}

    assert _tree(tmp_path, flat | catalogue) == {"large folders": {"operable/flat": shape.FOLDER_LIMIT + 1}}


def test_a_small_module_with_one_caller_is_found_and_one_with_two_is_not(tmp_path):
    files = {
        "a/one.py": "x = 1\n",
        "a/two.py": "x = 1\n",
        "a/first.py": "from operable.a import one, two\n",
        "a/second.py": "def f():\n    from operable.a.two import x\n",
    }

    assert _tree(tmp_path, files) == {"small modules with one caller": {"operable.a.one": 1}}


def test_a_small_module_that_its_package_exports_is_not_one_with_one_caller(tmp_path):
    files = {"a/__init__.py": "from operable.a.one import x\n", "a/one.py": "x = 1\n"}

    assert _tree(tmp_path, files) == {}


def test_repeated_classes_circles_and_gerunds_are_found(tmp_path):
    files = {
        "a/calling.py": "from operable.a.call import Call\n",
        "a/call.py": "from operable.a.calling import x\nclass Call: ...\n",
        "b/call.py": "class Call: ...\n",
        "b/string.py": "x = 1\n",
    }
    found = _tree(tmp_path, files)

    assert found["repeated class names"] == {"Call": 2}
    assert found["modules in import circles"] == {"operable.a": 2}
    assert found["gerunds and participles"] == {"operable.a.calling": 1}


def test_limits_fall_with_what_is_found_and_never_rise():
    allowed = {"repeated class names": {"Call": 3, "Gone": 2}}
    found = {"repeated class names": {"Call": 2, "New": 5}}

    assert tomllib.loads(shape.lowered(found, allowed)) == {"repeated class names": {"Call": 2}}
    assert shape.excess(found, allowed) == ["repeated class names: New (5, allowed 0)"]
