"""Catalogues: a plural folder holds one entry per file, and adding an entry touches nothing else.

For every entry: its name is its file's, its docstring is its reference page, its descriptor stands last, and it does not
know its neighbours. All of it is read from the source; what an entry does is for the tests of its own kind.
"""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "operable"
# folder -> the descriptor that ends each of its files
CATALOGUES = {
    "agent/abilities": "ABILITY",
    "agent/models": "MODEL",
    "cli/commands": "COMMAND",
    "cli/commands/agent": "COMMAND",
    "cli/commands/app": "COMMAND",
    "cli/commands/flow": "COMMAND",
    "cli/commands/init": "COMMAND",
    "flow/authorizers": "AUTHORIZER",
    "flow/evidences": "EVIDENCE",
    "flow/identities": "IDENTITY",
    "flow/lints": "LINT",
    "flow/methods": "METHOD",
    "flow/proofs": "PROOF",
    "flow/targets": "TARGET",
    "host/arms": "ARM",
    "host/continuations": "CONTINUATION",
    "host/importers": "IMPORTER",
    "host/installers": "INSTALLER",
    "host/secrets": "BACKEND",
    "host/steps": "STEP",
    "lint/checks": "CHECK",
    "lint/reports": "REPORT",
    "manifest/kinds": "KIND",
    "proc/sandboxes": "SANDBOX",
    "serve/sources": "SOURCE",
    "testing/dialects": "DIALECT",
    "testing/voices": "VOICE",
    "wrap/parsers": "PARSER",
}
ENTRIES = [
    pytest.param(path, descriptor, id=f"{folder}/{path.stem}")
    for folder, descriptor in CATALOGUES.items()
    for path in sorted((SOURCE / folder).glob("[!_]*.py"))
]


@pytest.mark.parametrize("folder", CATALOGUES)
def test_a_catalogue_lists_nothing_by_hand(folder):
    tree = ast.parse((SOURCE / folder / "__init__.py").read_text("utf-8"))

    assert [node for node in tree.body if not isinstance(node, ast.Expr)] == []


@pytest.mark.parametrize("path, descriptor", ENTRIES)
def test_an_entry_is_named_by_its_file_and_explains_itself(path, descriptor):
    assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", path.stem)
    assert ast.get_docstring(ast.parse(path.read_text("utf-8")))


@pytest.mark.parametrize("path, descriptor", ENTRIES)
def test_an_entry_ends_with_its_descriptor(path, descriptor):
    match ast.parse(path.read_text("utf-8")).body[-1]:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            assert name == descriptor
        case other:
            pytest.fail(f"{path.name} ends with {ast.unparse(other)[:60]!r}, not with {descriptor} = …")


@pytest.mark.parametrize("path, descriptor", ENTRIES)
def test_an_entry_does_not_import_its_neighbours(path, descriptor):
    package = ".".join(["operable", *path.parent.relative_to(SOURCE).parts])
    imported = [
        node.module or ""
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom)
    ]

    assert [name for name in imported if name.startswith(package)] == []
