"""The shape of `src/operable`, as numbers and as limits: `python -m tools.shape`, part of `./dev check`.

It reads the sources without importing them. The table says how many modules and lines there are, how large folders are,
which small modules have one caller, which class names repeat, which modules import each other in a circle, and which
names are gerunds or participles. `tools.mechanisms` adds each place that repeats what another module owns.

`tools/shape.toml` keeps what was wrong on the day it was written. The check fails on anything that is not in it; what is
in it and has gone is taken out by `--lower`, which `./dev fix` runs. Nothing ever adds to the file.
"""

import ast
import re
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tools.mechanisms import MECHANISMS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
RATCHET = ROOT / "tools" / "shape.toml"
# Of `style.md`: a folder of more gets rooms, a smaller module with one caller belongs to its caller.
FOLDER_LIMIT, SMALL = 20, 100
# Tools of their own that users copy: they use the public API alone, and share no code and no names with the product.
EXAMPLES = "operable/examples"
# The nodes that imports and mechanisms are recognised by: one in five.
TELLING = (ast.Call, ast.ClassDef, ast.Compare, ast.Dict, ast.Import, ast.ImportFrom, ast.Subscript)
# An entry of a catalogue is named by what a contract or another program calls it, and only its catalogue loads it.
DESCRIPTOR = re.compile(r"[A-Z][A-Z_]*")
# Nouns that end like a gerund or a participle.
NOUNS = frozenset(
    "binding embedding keyring mapping ping ring screen setting settings string thing zed feed seed speed need".split()
)
# Participles that no ending shows.
IRREGULAR = frozenset(
    "asked chosen drawn found given held kept known made sent shown spoken told written".split()
)


@dataclass(frozen=True, slots=True)
class Module:
    """One source file, read once."""

    name: str
    folder: str
    lines: int
    imports: frozenset[str]
    classes: tuple[str, ...]
    descriptor: bool
    copies: Mapping[str, int] = field(default_factory=dict)

    @property
    def package(self) -> bool:
        return self.folder == self.name.replace(".", "/")


def read(source: Path) -> dict[str, Module]:
    """Every module below a folder of sources, by its dotted name."""
    trees = {}
    for path in sorted(source.rglob("*.py")):
        if path.is_relative_to(source / EXAMPLES):
            continue
        parts = path.relative_to(source).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text("utf-8")
        trees[name] = (path.parent.relative_to(source).as_posix(), text, ast.parse(text))
    return {name: _module(name, *read, trees) for name, read in trees.items()}


def _module(name: str, folder: str, text: str, tree: ast.Module, known: Iterable[str]) -> Module:
    nodes = [node for node in ast.walk(tree) if isinstance(node, TELLING)]
    # Loaded by their path, in a process of their own if need be: what they do is theirs.
    foreign = "/wrappers/" in folder
    return Module(
        name,
        folder,
        text.count("\n"),
        frozenset(_imports(nodes, known)) - {name},
        tuple(node.name for node in tree.body if isinstance(node, ast.ClassDef) and not foreign),
        foreign or _ends_with_descriptor(tree),
        {} if foreign else {each.name: n for each in MECHANISMS if (n := each.count(name, nodes))},
    )


def _imports(nodes: Iterable[ast.AST], known: Iterable[str]) -> Iterator[str]:
    """The modules of ours that this one names: also those that a function loads, or that only types need."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in known:
                    yield inner
                elif node.module in known:
                    yield node.module


def _ends_with_descriptor(tree: ast.Module) -> bool:
    match tree.body[-1:]:
        case [ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name))]:
            return DESCRIPTOR.fullmatch(name) is not None
    return False


def folders(modules: Mapping[str, Module]) -> dict[str, int]:
    """The modules of each folder, catalogues left out: their entries are as many as there are things."""
    inside: dict[str, list[Module]] = defaultdict(list)
    for module in modules.values():
        if not module.package:
            inside[module.folder].append(module)
    catalogues = {
        folder for folder, each in inside.items() if len(each) > 1 and all(one.descriptor for one in each)
    }
    return {folder: len(each) for folder, each in sorted(inside.items()) if folder not in catalogues}


def lonely(modules: Mapping[str, Module]) -> list[str]:
    """Small modules that exactly one other module imports.

    Entries of catalogues are left out, and what its package exports: who imports that, imports the package.
    """
    callers = Counter(name for module in modules.values() for name in module.imports)
    exported = {
        name
        for module in modules.values()
        if module.package
        for name in module.imports
        if name.rpartition(".")[0] == module.name
    }
    return sorted(
        module.name
        for module in modules.values()
        if callers[module.name] == 1 and module.lines < SMALL
        if not (module.package or module.descriptor or module.name in exported)
    )


def repeated_classes(modules: Mapping[str, Module]) -> dict[str, int]:
    """Class names with more than one class."""
    names = Counter(
        name for module in modules.values() for name in module.classes if not name.startswith("_")
    )
    return {name: count for name, count in sorted(names.items()) if count > 1}


def circles(modules: Mapping[str, Module]) -> dict[str, int]:
    """The modules of each package that import each other in a circle, lazily or not: how many for each package."""
    sizes: Counter[str] = Counter()
    for knot in _knots(modules):
        for package in {".".join(name.split(".")[:2]) for name in knot}:
            sizes[package] += sum(name.startswith(f"{package}.") or name == package for name in knot)
    return {package: size for package, size in sorted(sizes.items()) if size > 1}


def _knots(modules: Mapping[str, Module]) -> list[set[str]]:
    """The strongly connected parts of more than one module: each reaches each of the others."""
    reached = {name: _reach(name, modules) for name in modules}
    knots: list[set[str]] = []
    for name in modules:
        if not any(name in knot for knot in knots):
            knot = {other for other in reached[name] if name in reached[other]}
            if len(knot) > 1:
                knots.append(knot)
    return knots


def _reach(name: str, modules: Mapping[str, Module]) -> set[str]:
    reached: set[str] = set()
    waiting = [name]
    while waiting:
        fresh = modules[waiting.pop()].imports - reached
        reached |= fresh
        waiting += fresh
    return reached


def misnamed(modules: Mapping[str, Module]) -> list[str]:
    """Modules that are called by a gerund or a participle; entries of catalogues may have to be."""
    return sorted(
        module.name
        for module in modules.values()
        if not (module.descriptor or module.package) and _is_verbal(module.name.rpartition(".")[2].strip("_"))
    )


def _is_verbal(name: str) -> bool:
    last = name.rpartition("_")[2]
    return last not in NOUNS and (last in IRREGULAR or re.search(r"..(ing|ed)$", last) is not None)


def findings(modules: Mapping[str, Module]) -> dict[str, dict[str, int]]:
    """Everything that has a limit: its kind, its name, its number."""
    wrong = {
        "large folders": {folder: n for folder, n in folders(modules).items() if n > FOLDER_LIMIT},
        "small modules with one caller": dict.fromkeys(lonely(modules), 1),
        "repeated class names": repeated_classes(modules),
        "modules in import circles": circles(modules),
        "gerunds and participles": dict.fromkeys(misnamed(modules), 1),
    }
    for mechanism in MECHANISMS:
        copies = {name: m.copies[mechanism.name] for name, m in modules.items() if mechanism.name in m.copies}
        wrong[f"copies of {mechanism.name}"] = copies
    return wrong


def excess(found: Mapping[str, Mapping[str, int]], allowed: Mapping[str, Mapping[str, int]]) -> list[str]:
    """What is wrong and was not when the limits were written."""
    hints = {f"copies of {each.name}": each.hint for each in MECHANISMS}
    return [
        f"{kind}: {name} ({number}, allowed {allowed.get(kind, {}).get(name, 0)}){hint}"
        for kind, numbers in found.items()
        for name, number in numbers.items()
        if number > allowed.get(kind, {}).get(name, 0)
        for hint in [f": {hints[kind]}" if kind in hints else ""]
    ]


def lowered(found: Mapping[str, Mapping[str, int]], allowed: Mapping[str, Mapping[str, int]]) -> str:
    """The limits as they are now: never higher than they were."""
    text = [
        "# What is still wrong with the shape (tools/shape.py): numbers only fall, `./dev fix` lowers them."
    ]
    for kind in found:
        now = {
            name: min(limit, found[kind][name])
            for name, limit in sorted(allowed.get(kind, {}).items())
            if name in found[kind]
        }
        if now:
            text += ["", f'["{kind}"]', *(f'"{name}" = {number}' for name, number in now.items())]
    return "\n".join(text) + "\n"


def table(modules: Mapping[str, Module], found: Mapping[str, Mapping[str, int]]) -> str:
    counted = [module for module in modules.values() if not module.package]
    largest = max(folders(modules).items(), key=lambda each: each[1], default=("", 0))
    rows: list[tuple[str, object]] = [
        ("modules", len(counted)),
        ("modules under 40 lines", sum(module.lines < 40 for module in counted)),
        ("lines", sum(module.lines for module in modules.values())),
        ("largest folder", f"{largest[1]} ({largest[0]})"),
        *((kind, _total(kind, numbers)) for kind, numbers in found.items()),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def _total(kind: str, numbers: Mapping[str, int]) -> int:
    return sum(numbers.values()) if kind.startswith(("copies", "modules in")) else len(numbers)


def main(arguments: list[str]) -> int:
    modules = read(SOURCE)
    found = findings(modules)
    allowed = tomllib.loads(RATCHET.read_text("utf-8")) if RATCHET.exists() else {}
    if "--lower" in arguments:
        RATCHET.write_text(lowered(found, allowed), "utf-8")
        return 0
    if "--list" in arguments:
        for kind, numbers in found.items():
            print(f"{kind}:", *(f"  {name} {number}" for name, number in numbers.items()), sep="\n")
        return 0
    print(table(modules, found))
    wrong = excess(found, allowed)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
