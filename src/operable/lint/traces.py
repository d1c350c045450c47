"""What a crash looks like on stderr, language by language, and what a question to a person looks like.

Patterns are taken from what the runtimes themselves print; a tool's own words about an error match none of them.
"""

from __future__ import annotations

import re

_TRACES = {
    "Python": r"^Traceback \(most recent call last\):|^Exception ignored (in|while|on)[: ]|^\S*BrokenPipeError:",
    "Node": r"^\s+at .+[( ](node:|/|file:)[^)\n]*:\d+:\d+\)?$|^node:\w+:\d+$|Unhandled 'error' event|^Error: write EPIPE",
    "Go": r"^panic: |^goroutine \d+ \[|^fatal error: .+\n\ngoroutine",
    "Rust": r"^thread '.*'( \(\d+\))? panicked at|^stack backtrace:",
    "Java": r"^Exception in thread |^\s+at [\w.$]+\([\w$]+\.(java|kt|scala):\d+\)",
    "Ruby": r"^\S+:\d+:in [`'].+': .+ \(\w+(::\w+)*\)|\(Errno::EPIPE\)",
    "Perl": r"^.+ at \S+\.p[lm] line \d+\.$",
    "OCaml": r"^Fatal error: exception ",
    "PHP": r"^(PHP )?Fatal error: |^Stack trace:\n#0 ",
    "Dart": r"^Unhandled exception:\n",
    "Crystal": r"^Unhandled exception: .+ \([\w:]+\)$",
    ".NET": r"^Unhandled [Ee]xception[.:]|^\s+at [\w.<>]+\(.*\) in .+:line \d+",
    "C++": r"terminate called after throwing|^Segmentation fault|AddressSanitizer|^\*\*\* stack smashing|^double free or",
    "Deno": r"^error: Uncaught ",
    "Haskell": r"commitBuffer: resource vanished|^CallStack \(from HasCallStack\):",
    "Julia": r"^ERROR: LoadError: |^Stacktrace:\n \[1\]",
    "Nim": r"^Error: unhandled exception: ",
    "R": r"^Execution halted$",
    "Swift": r"\.swift:\d+: (Fatal|Assertion)",
    "Tcl": r"^ +while executing$",
    "Zig": r"^thread \d+ panic: ",
    "Lua": r"^stack traceback:",
    "Elixir": r"^\*\* \(\w+(\.\w+)*\) ",
    "shell": r"^\S+: line \d+: .*: (command not found|unbound variable|syntax error)",
}
_PATTERNS = {language: re.compile(pattern, re.MULTILINE) for language, pattern in _TRACES.items()}
_PROMPT = re.compile(
    r"(\[y/n\]|\(y/n\)|\[yes/no\]|\(yes/no\)|password\s*:|passphrase\s*:|are you sure|continue\?|proceed\?|"
    r"press (any key|enter)|enter (your |the |a )?\w+\s*:|\?\s*)\s*$",
    re.IGNORECASE,
)


def trace(text: str) -> tuple[str, str] | None:
    """Language and line of the first sign of a crash."""
    for language, pattern in _PATTERNS.items():
        found = pattern.search(text)
        if found is not None:
            start = text.rfind("\n", 0, found.start()) + 1
            return language, text[start : start + 160].splitlines()[0].strip() or found.group(0).strip()
    return None


def question(text: str) -> str | None:
    """The end of a text, when it reads like a question to a person that waits for an answer."""
    if text.endswith("\n"):
        return None  # a prompt leaves the cursor behind it
    last = text.rstrip(" \t").rsplit("\n", 1)[-1]
    return last if last and _PROMPT.search(last) else None
