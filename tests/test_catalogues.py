"""Catalogues: a plural folder holds one entry per file, and adding an entry touches nothing else.

For every entry: its name is its file's, its docstring is its reference page, its descriptor stands last, and it does not
know its neighbours. All of it is read from the source; what an entry does is for the tests of its own kind.
"""

import ast
import re
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "operable"
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
# folder -> the descriptor that ends each of its files
CATALOGUES = {
    "agent/abilities": "ABILITY",
    "agent/providers": "MODEL",
    "cli/commands": "COMMAND",
    "cli/commands/agent": "COMMAND",
    "cli/commands/app": "COMMAND",
    "cli/commands/flow": "COMMAND",
    "cli/commands/init": "COMMAND",
    "flow/authorizers": "AUTHORIZER",
    "flow/evidences": "EVIDENCE",
    "flow/identities": "IDENTITY",
    "flow/lints": "LINT",
    "flow/operations": "OPERATION",
    "flow/proofs": "PROOF",
    "flow/targets": "TARGET",
    "frameworks": "FRAMEWORK",
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
# What the help says of a group of commands, and in which order people read them. It is no index: a command that it does not
# name is found and shown behind the others.
HELP_OF_A_GROUP = {"ABOUT", "SECTIONS"}


@cache
def entries():
    """Each entry of each catalogue, its name and its descriptor; read once for all the rules."""
    return [
        (f"{folder}/{path.stem}", descriptor, ast.parse(path.read_text("utf-8")))
        for folder, descriptor in CATALOGUES.items()
        for path in sorted((SOURCE / folder).glob("[!_]*.py"))
    ]


def test_no_catalogue_lists_anything_by_hand():
    listed = {
        folder: [ast.unparse(node) for node in said(folder) if assigned(node) not in HELP_OF_A_GROUP]
        for folder in CATALOGUES
    }

    assert {folder: nodes for folder, nodes in listed.items() if nodes} == {}


def test_the_help_of_a_group_names_commands_that_are_there_once():
    for folder in sorted(path.parent for path in (SOURCE / "cli/commands").glob("*/__init__.py")):
        (sections,) = [
            node.value
            for node in said(folder)
            if isinstance(node, ast.Assign) and assigned(node) == "SECTIONS"
        ] or [ast.Dict([], [])]
        named = [word for words in ast.literal_eval(sections).values() for word in words]
        files = {path.stem.replace("_", "-") for path in folder.glob("[!_]*")}

        assert (folder.name, set(named) - files, len(named)) == (folder.name, set(), len(set(named)))


def said(folder):
    """What a catalogue's own file has beside its docstring."""
    tree = ast.parse((SOURCE / folder / "__init__.py").read_text("utf-8"))
    return [node for node in tree.body if not isinstance(node, ast.Expr)]


def assigned(node):
    return (
        node.targets[0].id if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) else None
    )


def test_every_catalogue_has_entries():
    assert {name.rpartition("/")[0] for name, _, _ in entries()} == set(CATALOGUES)


def test_every_entry_is_named_by_its_file_and_explains_itself():
    assert [name for name, _, _ in entries() if not NAME.fullmatch(name.rpartition("/")[2])] == []
    assert [name for name, _, tree in entries() if not ast.get_docstring(tree)] == []


def test_every_entry_ends_with_its_descriptor():
    ends = [(name, descriptor, last_name(tree)) for name, descriptor, tree in entries()]

    assert [end for end in ends if end[1] != end[2]] == []


def test_no_entry_imports_its_neighbours():
    imported = [
        (name, node.module)
        for name, _, tree in entries()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("operable." + name.rpartition("/")[0].replace("/", "."))
    ]

    assert imported == []


def last_name(tree):
    """The name that the last statement of a module assigns, or that statement."""
    match tree.body[-1]:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case other:
            return ast.unparse(other)[:60]
