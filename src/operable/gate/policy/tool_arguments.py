"""What is in the arguments of a tool call, by what it is: command lines, their context, paths, addresses, folders.

Agents name their arguments as they like and nest them as they like; the names that are in use are listed here. More is
found rather than less: what denies looks at everything, and what allows needs all of it. Patches name their files in their
text. `unreadable` says that something was there which could not be understood.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any, Final

from operable.gate.policy.patch_files import patched
from operable.gate.policy.shell import command_context
from operable.gate.policy.shell.command_context import CommandContext
from operable.gate.policy.shell.text import BLANK
from operable.kernel.data_class import dataclass

# Names of arguments, in small letters without anything between them: filePath, file_path and FILE-PATH are one name.
_PATHS: Final = frozenset(
    "path filepath abspath absolutepath absolutefilepath relativepath file filename notebook notebookpath target"
    " targetfile targetpath targetfilepath source src destination dest dst sourcepath destinationpath oldpath newpath"
    " oldfilepath newfilepath from to paths files filepaths filenames fileuri folder directory dir dirpath"
    " directorypath folderpath outputpath outputfile inputpath inputfile rootpath sourcefile destinationfile"
    " movepath moveto renameto parentdir parentdirectory parentfolder parentpath basedir basedirectory basepath"
    " rootdir rootdirectory targetdir targetdirectory outputdir outputdirectory sourcedir sourcedirectory"
    " destinationdir destinationdirectory".split()
)
_COMMANDS: Final = frozenset(
    "command commands cmd cmds commandline commandlines shellcommand bashcommand script argv".split()
)
# The rest of a command, beside its program.
_WORDS: Final = frozenset("args argv arguments argument params parameters flags commandargs cmdargs".split())
# What editors of files have where others have a command.
_VERBS: Final = frozenset(
    "view read create write append insert replace str_replace edit undo_edit delete rename move".split()
)
_ADDRESSES: Final = frozenset("url urls uri uris href address addresses endpoint link".split())
_QUERIES: Final = frozenset({"query", "queries", "q"})
_FOLDERS: Final = frozenset("cwd workdir workingdirectory workingdir currentdirectory".split())
# A folder in which other paths of the same call may be; and a name that may be below another path.
_BASES: Final = re.compile(r".*(?:dir|directory|folder)|(?:base|root|parent|dir|directory|folder).*")
_BELOW: Final = frozenset("filename file name filenames files relativepath".split())
_PATCHES: Final = frozenset("patch patches diff patchtext unifieddiff input".split())
_SHOWN: Final = frozenset(
    {"title", "text", "description", "summary", "label", "explanation", "reason", "intent"}
)
_CONTENTS: Final = frozenset(
    "content contents text newtext newstring newstr newcontent newcontents newsource filetext filecontent code codeedit"
    " diff diffs patch patches patchtext unifieddiff edits changes replacement".split()
)
# What a content is to replace or follow, and what is looked for in it: no file has this name.
_OLD_CONTENTS: Final = frozenset(
    "oldstring oldstr oldtext oldcontent oldcontents oldsource old new before after original updated search replace"
    " find pattern regex regexp insert insertion instruction instructions prompt body".split()
)
# What an agent adds about a call, and what no effect of the call depends on.
_DECORATION: Final = frozenset(
    "status timeout timeoutms timeoutsec timeoutsecs timeoutseconds toolcallid callid messageid requestid".split()
)
_ANNOTATIONS: Final = frozenset({"meta", "metadata"})  # decoration if all that is in them is
_KEYED: Final = frozenset({"changes", "edits", "files", "filechanges"})
_DEPTH, _VALUES = 8, 2_000


@dataclass(slots=True)
class ArgumentTargets:
    """What is in arguments, by what it is."""

    commands: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    bases: list[str] = field(default_factory=list)  # paths that other paths of the call may be below
    context: CommandContext = field(default_factory=CommandContext)
    unreadable: bool = False
    _values: int = 0

    def gather(self, value: Any, depth: int = 0) -> None:
        self._values += 1
        if depth > _DEPTH or self._values > _VALUES:
            self.unreadable = self.unreadable or isinstance(value, (dict, list))
            return
        if isinstance(value, list):
            for item in value:
                self.gather(item, depth + 1)
        elif isinstance(value, dict):
            for name, inner in value.items():
                if not (isinstance(inner, list) and spelled(name) in _COMMANDS):
                    self.gather(inner, depth + 1)
                self._take(spelled(name), inner, value)

    def _take(self, name: str, value: Any, beside: Mapping[str, Any]) -> None:
        if name in _COMMANDS:
            self._command(name, value, beside)
        elif name in _PATCHES:
            self.paths += [path for text in _texts(value) for path in patched(text)]
        if name in _KEYED and isinstance(value, dict):  # by file; a key that sounds like a member may be one
            self.paths += [key for key in value if isinstance(key, str)]
        if name in _PATHS:
            self.paths += _texts(value)
            self._base(name, value, beside)
        elif name in _ADDRESSES:
            for text in _texts(value):
                (self.paths if text[:5].lower() == "file:" else self.addresses).append(text)
        elif name in _QUERIES:
            self.queries += _texts(value)
        elif name in _FOLDERS:
            self.folders += _texts(value)
        elif name in command_context.NAMES:
            self.context.take(name, value)

    def _base(self, name: str, value: Any, beside: Mapping[str, Any]) -> None:
        """Take in the folders of `directory` and `filename`, of `basePath` and `relativePath`."""
        if _BASES.fullmatch(name) and isinstance(value, str):
            self.bases.append(value)
        if name in _BELOW:
            others = [text for key, text in beside.items() if spelled(key) in _PATHS - {name}]
            self.bases += [text for text in others if isinstance(text, str) and text]

    def _command(self, name: str, value: Any, beside: Mapping[str, Any]) -> None:
        rest = [inner for key, inner in beside.items() if spelled(key) in _WORDS and spelled(key) != name]
        if value in ("", None) or (
            name == "argv" and any(spelled(key) in _COMMANDS - {name} for key in beside)
        ):
            return
        if name in ("commands", "cmds", "commandlines") and isinstance(value, list):
            for item in value:
                if isinstance(item, dict):
                    self.gather(item, 1)
                else:
                    self.commands += lines_of(item)
            return
        lines = lines_of(value)
        for words in rest:
            if isinstance(value, str) and words:
                whole = lines_of([value, *words]) if isinstance(words, list) else []
                self.unreadable = self.unreadable or not whole or len(rest) > 1
                lines = whole or lines
        self.commands += lines
        self.unreadable = self.unreadable or not lines


def spelled(name: Any) -> str:
    """The name of an argument in small letters, without anything between them."""
    return re.sub(r"[^a-z]", "", name.lower()) if isinstance(name, str) else ""


def _texts(value: Any) -> list[str]:
    if isinstance(value, list):
        return [item for item in value if isinstance(item, str) and item]
    return [value] if isinstance(value, str) and value else []


def lines_of(value: Any, prefixes: Iterable[str] = ()) -> list[str]:
    """A command line, of a text or of a list of words; without a prefix that the agent puts in front of it."""
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        from shlex import join

        return [join(value)]
    if not isinstance(value, str) or not value.strip():
        return []
    text = value.strip(BLANK)
    for prefix in prefixes:
        text = text.removeprefix(prefix)
    return [text]


def shown_in(arguments: Any) -> list[str]:
    """What is in the arguments for people to read."""
    if not isinstance(arguments, dict):
        return []
    return [value for name, value in arguments.items() if spelled(name) in _SHOWN and isinstance(value, str)]


def role_of(name: str) -> str:
    """What an argument of this name is: command, paths, address, folder, shown; nothing for anything else."""
    plain = spelled(name)
    roles = {"command": _COMMANDS, "paths": _PATHS, "address": _ADDRESSES | _QUERIES}
    roles |= {"folder": _FOLDERS, "shown": _SHOWN}
    return next((role for role, names in roles.items() if plain in names), "")


def is_word_list(name: str) -> bool:
    """Whether an argument of this name has the rest of a command."""
    return spelled(name) in _WORDS


def is_verb(line: str) -> bool:
    """Whether what is in the place of a command is only what an editor of files is to do."""
    return line in _VERBS


def is_content(name: str) -> bool:
    """Whether an argument of this name has what a file is to contain."""
    return spelled(name) in _CONTENTS


def is_text(name: str) -> bool:
    """Whether an argument of this name is a content, a part of one, or words for a model."""
    return spelled(name) in _CONTENTS | _OLD_CONTENTS


def is_patch(name: str, text: str) -> bool:
    """Whether an argument is a patch that names its files: then these are paths of the call."""
    return spelled(name) in _PATCHES and any(True for _ in patched(text))


def is_decoration(name: str, value: Any, depth: int = 0) -> bool:
    """Whether an argument has no part in what a call does: its status, a time limit, an id of the protocol."""
    if isinstance(value, dict):
        return (
            spelled(name) in _ANNOTATIONS
            and depth < _DEPTH
            and all(is_decoration(inner, value[inner], depth + 1) for inner in value)
        )
    return spelled(name) in _DECORATION and not isinstance(value, list)


def member_name(name: str) -> str:
    """How two spellings of the same member are one: `newText`, `new_text` and `NewText`."""
    return re.sub(r"[^a-z0-9]", "", name.lower()) or name


def strings_in(value: Any, depth: int = 0) -> Iterator[str]:
    """Every string in a value, the names of members left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)) and depth <= _DEPTH:
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings_in(inner, depth + 1)


def tells(arguments: Any) -> bool:
    """Whether there is more in it than what is shown to people."""
    return isinstance(arguments, dict) and any(spelled(name) not in _SHOWN for name in arguments)
