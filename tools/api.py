"""Reference sections for the public names of a package, from signatures, docstrings and fields (`tools.declared`)."""

import ast
import importlib
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping

from tools.declared import Declared, Member, is_property, module, parameters, result
from tools.markdown import block, code, paragraph, sentences, signature, table

# Words for members and parameters that have none in the source: public name -> member -> words. An entry "" replaces the
# signature, where the real one is not what an author writes; an empty text leaves a member out.
Texts = Mapping[str, Mapping[str, str]]


def home(package: str, name: str) -> str:
    """The module that declares a name which a package exports, or the module itself."""
    value = getattr(importlib.import_module(package), name)
    return str(getattr(value, "__module__", None) or package)


def section(package: str, name: str, texts: Texts | None = None, level: str = "##") -> list[str]:
    """Heading, signature, docstring, parameters and members of one public name."""
    found = module(home(package, name)).find(name)
    words = (texts or {}).get(name, {})
    lines = [f"{level} {name}", ""]
    lines += block("text", words.get("") or _call(found))
    lines += ["", *_prose(found.text), *_parameters(found, words)]
    if isinstance(found.node, ast.ClassDef):
        lines += _members(found, words)
        lines += _methods(found, words)
    return lines


def undocumented(package: str, names: Iterable[str], texts: Texts | None = None) -> Iterator[str]:
    """Public names, methods and attributes about which the reference would say nothing."""
    for name in names:
        found = module(home(package, name)).find(name)
        words = (texts or {}).get(name, {})
        if not found.text:
            yield f"{package}.{name}"
        explained = {method.name for method in found.methods() if ast.get_docstring(method)}
        explained |= {member.name for member in _shown_members(found) if member.text}
        members = [item.name for item in (*found.methods(), *_shown_members(found))]
        if any(item in words for item in _parameter_names(found)):
            members += _parameter_names(found)
        yield from (
            f"{package}.{name}.{item}" for item in members if item not in explained and item not in words
        )


def page(package: str, parts: Mapping[str, Iterable[str]], texts: Texts, way: str) -> str:
    """The reference page of a package: its public names in parts. `way` links to a path through it."""
    lines = [
        f"# {package}",
        "",
        f"Generated from the source by `./dev fix`. A path through it: {way}.",
        "",
        f"Every name here is imported from `{package}`.",
    ]
    for title, names in parts.items():
        lines += ["", f"## {title}", ""]
        for name in names:
            lines += section(package, name, texts, level="###")
    return "\n".join(lines).replace("\n\n\n", "\n\n").rstrip() + "\n"


def gaps(package: str, parts: Mapping[str, Iterable[str]], texts: Texts) -> list[str]:
    """What the page of a package does not explain."""
    documented = [name for names in parts.values() for name in names]
    public = importlib.import_module(package).__all__
    unnamed = [f"{package}.{name}" for name in public if name not in documented]
    return [*unnamed, *undocumented(package, documented, texts)]


def _call(found: Declared) -> str:
    function = found.function
    if function is None:
        given = [
            f"{item.name}: {item.type}" + (f" = {item.default}" if item.default else "")
            for item in found.fields()
        ]
        return signature(found.name, ["*", *given] if given and _keywords_only(found) else given, "")
    prefix = "async " if isinstance(function, ast.AsyncFunctionDef) else ""
    returned = result(function) if function is found.node else ""
    return prefix + signature(found.name, parameters(function), returned)


def _keywords_only(found: Declared) -> bool:
    value = getattr(sys.modules[found.module.name], found.name, None)
    try:
        kinds = (
            {item.kind for item in inspect.signature(value).parameters.values()} if callable(value) else set()
        )
    except (TypeError, ValueError):
        return False
    return bool(kinds) and kinds <= {inspect.Parameter.KEYWORD_ONLY}


def _prose(text: str) -> list[str]:
    """A docstring as Markdown: paragraphs on one line each, indented examples as blocks that are only shown."""
    lines: list[str] = []
    for part in inspect.cleandoc(text).split("\n\n"):
        if part.startswith("    "):
            lines += [*block("text", inspect.cleandoc(part)), ""]
        elif part.startswith("- "):
            lines += [*part.splitlines(), ""]
        elif part:
            lines += [paragraph(part), ""]
    return lines


def _shown_members(found: Declared) -> list[Member]:
    fields = list(found.fields())
    if fields:
        return fields
    # What is only a parameter that is kept is explained by the signature.
    made = found.method("__init__")
    given = (
        {item.arg for item in [*made.args.posonlyargs, *made.args.args, *made.args.kwonlyargs]}
        if made
        else set()
    )
    return [member for member in found.attributes() if member.text or member.name not in given]


def _parameter_names(found: Declared) -> list[str]:
    function = found.function
    if function is None:
        return []
    arguments = function.args
    return [
        item.arg
        for item in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        if item.arg not in ("self", "cls")
    ]


def _parameters(found: Declared, words: Mapping[str, str]) -> list[str]:
    """Where parameters have words, a table of them."""
    rows = [(code(name), sentences(words[name])) for name in _parameter_names(found) if words.get(name)]
    return [*table(("parameter", "meaning"), rows), ""] if rows else []


def _members(found: Declared, words: Mapping[str, str]) -> list[str]:
    rows = [
        (code(item.name), code(item.type), sentences(words.get(item.name, item.text)))
        for item in _shown_members(found)
        if words.get(item.name, item.text)
    ]
    return [*table(("field", "type", "meaning"), rows), ""] if rows else []


def _methods(found: Declared, words: Mapping[str, str]) -> list[str]:
    rows = []
    for method in found.methods():
        text = sentences(words.get(method.name, ast.get_docstring(method) or ""))
        if not text:
            continue
        returned = result(method)
        if is_property(method):
            shown = f"{method.name}: {returned}"
        else:
            arrow = f" -> {returned}" if returned and returned != "None" else ""
            shown = f"{method.name}({', '.join(parameters(method))}){arrow}"
        rows.append((code(shown), text))
    return [*table(("method or property", "does"), rows), ""] if rows else []
