r"""The rules that find secrets in free text; `structure` loads them for text that may have any.

Theory of operation: every rule finds an *announcement* (`name =`, `--name `, `Bearer `, `scheme://`) with a linear scan,
asks `names` about the name, and masks the value that follows. Announcements never consume values, so one hidden in
another (`note="password=x"`) is still seen. A value is a quoted string, a list of them, a number, or a bare word; where
the announcement opens its line, as in a config file, a bare value reaches to the end of the line.

Each rule is behind a substring test, which `structure` repeats for all of them. Quantifiers of single
characters are possessive; groups are not, because of a fault of `re` before 3.11.5 (gh-106052). When in doubt it hides
too much; `plain` lists what is not in doubt. Escaped literals are masked as the text that they hold (`escapes`). Data that
can be parsed belongs to `structure`, which sees more.
"""

import re
from binascii import Error as BadBase64
from binascii import a2b_base64

from operable.kernel.redact.escapes import LEVELS, mask_literals
from operable.kernel.redact.names import HINTS as NAME_HINTS
from operable.kernel.redact.names import (
    MASK,
    PASSWORD_PROGRAMS,
    SAFE_HEADERS,
    contains_any,
    is_counting_name,
    is_secret_name,
)
from operable.kernel.redact.plain import is_code, is_message, is_plain, is_reader, is_weak
from operable.kernel.redact.shapes import HINTS as SHAPE_HINTS
from operable.kernel.redact.shapes import mask_shapes
from operable.kernel.redact.urls import mask_encoded_pairs, redact_url

# `name =`, `"name":`, `\"name\":`, `env['NAME'] =>`, `--name=`; `bol` when it opens a line (config file, .env, YAML list).
_ANNOUNCEMENT = re.compile(
    r"""(?:(?P<bol>^[ \t]*+(?:(?:export|set|-)[ \t]++)?(?:["'](?=[\w.-]++["']))?)|(?<![\w.-]))"""
    r"""(?P<name>[\w.-]++)(?P<quote>\\*+["'])?\]?[ \t]*+"""
    # `token: str = "…"`, `var token string = "…"`: a type between the name and its value
    r"""(?::?[ \t]*+(?:[&*]?str|[Ss]tring|std::string|SecretStr|char[ \t]*+\*?|str[ \t]*+\|[ \t]*+None|any)[ \t]*+(?==))?"""
    r"""(?::=|={1,3}+>?|:(?!:))[ \t]*+""",
    re.MULTILINE,
)
_FLAG = re.compile(
    r"""(?<![\w-])--?(?P<name>[A-Za-z][\w.-]*+)[ \t]++(?!-[A-Za-z](?:\s|\Z)|--[a-z-]{0,40}(?:[\s=]|\Z))"""
)
_SET = re.compile(r"""^[ \t]*+(?:setx|setenv|set[ \t]++-g?x)[ \t]++(?P<name>[\w.-]++)[ \t]++""", re.MULTILINE)
_NETRC = re.compile(r"""\blogin[ \t]++[^\s]++\s++(?P<name>password)[ \t]++""", re.IGNORECASE)
# Kubernetes and CI variables: `name: API_TOKEN` and, next, `value: …`
_PAIRED = re.compile(
    r"""\b(?:name|key)["']?\s*+[:=]\s*+["']?(?P<name>[\w.-]++)["']?[\s,;]{1,80}+["']?value(?P<quote>["'])?\s*+[:=]\s*+""",
    re.IGNORECASE,
)
_HEADER_OPTION = re.compile(
    r"""(?P<head>(?<![\w-])(?:-H|--header)[= \t]*+["']?(?P<name>[\w-]++):[ \t]*+)(?P<value>[^"'\n]++)"""
)
_USER_OPTION = re.compile(
    r"""(?P<head>(?<![\w-])(?:-u|--user|--proxy-user)[= \t]++["']?[^\s:"']++:)(?P<value>[^\s"']++)"""
)
# `-pSECRET` of clients of MySQL, `-p SECRET` of sshpass and others; before it are only words of the same command.
_PASSWORD_OPTION = re.compile(
    r"""(?P<head>\b(?:(?:mysql|mysqldump|mysqladmin|mariadb|7z[ar]?)\b[^\n;|&]{0,200}?[ \t]-p"""
    r"""|(?:redis-cli\b[^\n;|&]{0,200}?[ \t]-a|ldap(?:search|add|modify|delete|passwd|whoami)\b[^\n;|&]{0,200}?[ \t]-w"""
    r"""|(?:un)?zip\b[^\n;|&]{0,200}?[ \t]-P|mongo(?:sh|dump|restore|export|import)?\b[^\n;|&]{0,200}?[ \t]-p"""
    r"""|(?:docker|podman|buildah|skopeo|registry)[ \t]++login\b[^\n;|&]{0,200}?[ \t]-p)[ \t]*+"""
    r"""|curl\b[^\n;|&]{0,200}?[ \t]-u[^\s:"'=]++:|sshpass[ \t]++-p[ \t]*+)["']?)"""
    r"""(?P<value>(?<=')[^'\n]++|(?<=")[^"\n]++|[^\s"';|&=[-][^\s"';|&]*+)"""
)
_ELEMENT = re.compile(r"""(?P<head><(?P<name>[\w.:-]++)(?:\s[^<>]*+)?>\s*+)(?P<value>[^<]++)(?=</)""")
_YAML_BLOCK = re.compile(
    r"""^(?P<indent>[ \t]*+(?:-[ \t]++)?)["']?(?P<name>[\w.-]++)["']?[ \t]*+:[ \t]*+(?P<style>[|>][-+0-9]*+)?[ \t]*+\r?\n""",
    re.MULTILINE,
)

# What an announcement may announce, in this order.
_VALUE = re.compile(
    r"""(?P<triple>\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3})"""
    r"""|(?P<escaped>(?P<open>\\{1,7}["'])[^\\\n]*+(?:(?!(?P=open))\\++["']?[^\\\n]*+)*)"""
    r"""|"(?P<double>[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*)"?"""
    r"""|'(?P<single>[^'\\\n]*+(?:\\[^\n][^'\\\n]*+)*)'?"""
    r"""|(?P<list>(?!\[redacted\])[\[(]\s*+(?:"""
    r"""(?:(?:"[^"\\]*+(?:\\.[^"\\]*+)*(?:"|\Z)|'[^'\\]*+(?:\\.[^'\\]*+)*(?:'|\Z))\s*+,?\s*+)+[\])]?"""
    r"""|(?:(?:"[^"\\]*+(?:\\.[^"\\]*+)*"|'[^'\\]*+(?:\\.[^'\\]*+)*'|[^\s"'\[\](){},]++)\s*+,?\s*+)+(?:[\])]|\Z)))"""
    r"""|(?P<literal>(?:[Tt]rue|[Ff]alse|[Nn]one|[Nn]ull|nil|undefined)"""
    r"""(?=[ \t]++#|[ \t]*+(?:$|[,;)}\]]*+(?:[\s"'},]|\Z|\\++[nrt"'])))"""
    r"""|[|>][-+0-9]{0,2}(?=[ \t]*+$))"""
    r"""|(?P<number>-?[0-9]++(?:\.[0-9]++)?(?=[,;&][\w.%-]{1,64}=|[.,;)}\]]*+(?:[\s"'},]|\Z|\\++[nrt"'])))"""
    r"""|(?P<bracket>[\[{(][\[{( \t]*+(?:$|\\*+["'][\w.$-]{1,100}+\\*+["'][ \t]*+:)"""
    r"""|(?:\[\]|\{\}|\(\))(?=[,;)}\]]*+(?:\s|\Z|\\*+["'])))"""
    r"""|(?P<around>(?:[A-Za-z_][A-Za-z_.]{0,100}+\(|[\[{(][\[{(]*+)[ \t]*+)(?=\\*+["'])"""
    r"""|(?P<bare>[^\s"'`&;,][^\s"'`&;,<]*+(?:(?:[&;,](?![\w.%-]{1,64}=)|<(?!/[A-Za-z]))[^\s"'`&;,<]*+)*"""
    r"""|[&;,](?![\w.%-]{1,64}=)[^\s"'`]*+)""",
    re.MULTILINE,
)
_MASKED_LINE = re.compile(
    re.escape(MASK) + r"\\++[nrt]"
)  # already masked, and the next line of a literal behind it
_NEXT_PAIR = re.compile(r"[&;,](?=[^\s])")
_CLOSED = re.compile(r"[ \t]*+[,)\]}]")
_GLUED = re.compile(r"""[A-Za-z0-9_][^\s"'`,;]*+""")
_TO_END_OF_LINE = re.compile(r"[^\n\r]++")
_TO_QUOTE_OR_END = re.compile(r"""[^\n\r"'`]++""")

_BEARER = re.compile(
    r"\b(?P<compound>(?<=[\w.]-))?(?P<scheme>bearer)(?P<space>[ \t]++)(?P<value>[\w.~+/=-]{6,}+)",
    re.IGNORECASE,
)
_BASIC = re.compile(r"\b(?P<scheme>basic)(?P<space>[ \t]++)(?P<value>[A-Za-z0-9+/]{4,}+=*+)", re.IGNORECASE)
# What follows the name of a provider (`file-bearer --allow-commands`): options, words and hyphenated names. A token has
# digits or capitals.
_OPTION = re.compile(r"--[a-z]++(?:-[a-z]++)*+(?:=[a-z]*+)?\Z")
_ORDINARY = re.compile(r"[a-z]{1,20}+(?:-[a-z]{1,20}+){0,5}+\.?\Z")
_ADDRESS = re.compile(
    r"""(?<![A-Za-z0-9+.-])[A-Za-z0-9+.-]++:\\?/\\?/[^\s"'<>`]++|(?<![^\s"'=(,])/[^\s"'<>`?]*+\?[^\s"'<>`]++"""
)

# Words that follow "--token" or "bearer" in a sentence rather than in a command.
_SENTENCE = frozenset(
    "or and to is in with for from the a an as option flag must may can not was if on at by of it that which when"
    " requires required needs takes expects missing given cannot has had"
    " token tokens auth authentication authorization authorisation scheme header headers credentials realm".split()
)
_WHOLE_LINE = ("authorization", "cookie")  # their values have several words
_BEFORE = 24  # characters before a name that say what it names
_AFTER = 100  # characters of the line behind it that are looked at
_BLOCK = 4096  # of a block under a secret name
_LINE = re.compile(r"[^\n\r\\]*+(?:\\(?![nr])[^\n\r\\]*+)*")
_BRACKET = re.compile(r"[\[\](){}]")
_PASSES = (
    4  # masking can complete a pattern (rarely once); the loop ends at the first pass that changes nothing
)


def mask_prose(text: str) -> str:
    """The text with whatever looks like a secret masked; applying it again changes nothing."""
    return _redact(text, LEVELS)


def _redact(text: str, levels: int) -> str:
    for _ in range(_PASSES):
        masked = _one_pass(text, levels)
        if masked == text:
            break
        text = masked
    return text


def _one_pass(text: str, levels: int) -> str:
    if levels and "\\" in text and _may_hide(text):
        text = mask_literals(text, lambda inner: _redact(inner, levels - 1))
    text = mask_shapes(text)
    if "/" in text and ("://" in text or "?" in text or "\\/" in text):
        text = _ADDRESS.sub(lambda found: redact_url(found[0]), text)
    lowered = text.lower()
    if "%3" in text or "%253" in text or "%25253" in text:
        text = mask_encoded_pairs(text)
    if contains_any(lowered, NAME_HINTS):
        text = _mask_named(text, lowered)
    if "-" in text and ("-H" in text or "-u" in text or "--header" in text or _has_password_option(text)):
        text = _mask_options(text)
    if "bearer" in lowered:
        text = _BEARER.sub(_mask_scheme, text)
    if "basic" in lowered:
        text = _BASIC.sub(_mask_scheme, text)
    return text


def _may_hide(text: str) -> bool:
    return contains_any(text, SHAPE_HINTS) or contains_any(text.lower(), NAME_HINTS)


def _mask_named(text: str, lowered: str) -> str:
    if "value" in lowered:
        text = _mask_announced(text, _PAIRED)
    if "login" in lowered:
        text = _mask_announced(text, _NETRC)
    if "set" in lowered:
        text = _mask_announced(text, _SET)
    if "</" in text:
        text = _ELEMENT.sub(lambda found: _mask_tail(found, is_secret_name(found["name"])), text)
    if "\n" in text and ":" in text:
        text = _mask_blocks(text)
    if "=" in text or ":" in text:
        text = _mask_announced(text, _ANNOUNCEMENT)
    if "-" in text:
        text = _mask_announced(text, _FLAG)
    return text


def _has_password_option(text: str) -> bool:
    return contains_any(text, PASSWORD_PROGRAMS) and contains_any(text, (" -p", " -a", " -w", " -P"))


def _mask_options(text: str) -> str:
    """`-H 'Name: value'` and `-u user:password` of a shell line, which announce by their letter only."""
    text = _HEADER_OPTION.sub(
        lambda found: _mask_tail(found, found["name"].lower() not in SAFE_HEADERS), text
    )
    if contains_any(text, PASSWORD_PROGRAMS) or "curl" in text:
        text = _PASSWORD_OPTION.sub(lambda found: _mask_tail(found, True), text)
    return _USER_OPTION.sub(lambda found: _mask_tail(found, True), text)


def _mask_tail(found: re.Match[str], secret: bool) -> str:
    return found["head"] + MASK if secret and found["value"].strip() else found[0]


def _mask_announced(text: str, announcement: re.Pattern[str]) -> str:
    pieces: list[str] = []
    done = inside = 0  # what is written; how far a block under a secret name reaches
    known: dict[str, bool] = {}
    for found in announcement.finditer(text):
        name = found["name"]
        secret = known.get(name)
        if secret is None:
            secret = known[name] = is_secret_name(name)
        within = found.start() < inside
        if not (secret or within) or found.start("name") < done:
            continue
        value = _VALUE.match(text, found.end())
        if value is None or value.lastgroup is None:
            continue
        weak = is_weak(name, text[max(0, found.start("name") - _BEFORE) : found.start("name")])
        if value.lastgroup == "bracket" and secret and not within and not weak:
            inside = _closing(text, value.start())
        masked = _mask_value(text, found, value, weak=weak) if secret or value.lastgroup != "number" else None
        if masked is not None:
            replacement, end = masked
            pieces += text[done : found.end()], replacement
            done = end
    return "".join([*pieces, text[done:]]) if pieces else text


def _closing(text: str, start: int) -> int:
    """Where the block that begins here ends; a bounded look, since a text may be cut off."""
    depth = 0
    for found in _BRACKET.finditer(text, start, start + _BLOCK):
        depth += 1 if found[0] in "[{(" else -1
        if depth <= 0:
            return found.end()
    return min(len(text), start + _BLOCK)


def _mask_value(
    text: str, found: re.Match[str], value: re.Match[str], *, weak: bool
) -> tuple[str, int] | None:
    """What to write instead of the value after this announcement, and where the value ends; None to leave it."""
    kind, name = value.lastgroup or "", found["name"]
    if kind in ("literal", "bracket") or (kind == "number" and is_counting_name(name)):
        return None
    if kind in ("bare", "number"):
        return _mask_bare(text, found, value, weak=weak)
    if kind == "around":
        return _mask_around(text, found, value, weak=weak)
    if kind == "escaped":
        content = value[0].removeprefix(value["open"])
        plain = is_plain(content, name, weak=weak) or is_message(content, weak=weak)
        return None if plain else (value["open"] + MASK, value.end())
    if kind == "triple":
        quotes = value[0][:3]
        return quotes + MASK + quotes, value.end()
    if kind == "list":
        if weak and not any(map(str.isdigit, value[0])):
            return None
        closing = "]" if value[0][0] == "[" else ")"
        return f'{value[0][0]}"{MASK}"{closing}', value.end()
    content = value[kind]
    more = _GLUED.match(text, value.end())  # `'{}'hunter2`: a shell joins what is together
    if more is not None:
        return MASK, more.end()
    # An empty string hides nothing, and showing that helps; nor does what closes a call: `input("Password: ")`.
    if not content.strip(")]};,") or is_plain(content, name, weak=weak) or is_message(content, weak=weak):
        return None
    quote = value[0][0]
    return quote + MASK + (quote if value.end(kind) < value.end() else ""), value.end()


def _mask_around(
    text: str, found: re.Match[str], value: re.Match[str], *, weak: bool
) -> tuple[str, int] | None:
    """`Token("…")`, `{"…`: a string inside a call or a bracket; a call that reads the secret elsewhere stays."""
    inner = _VALUE.match(text, value.end())
    if inner is not None and inner.lastgroup in ("double", "single", "escaped"):
        masked = _mask_value(text, found, inner, weak=weak)
        if is_reader(value[0]) or (masked is None and _CLOSED.match(text, inner.end())):
            return None
        if masked is not None:
            return value[0] + masked[0], masked[1]
    return MASK, value.end()  # the quote ends something else: `"token=abcdef("`


def _mask_bare(
    text: str, found: re.Match[str], value: re.Match[str], *, weak: bool
) -> tuple[str, int] | None:
    parts = found.groupdict()
    flag = found.re is _FLAG
    if flag and value[0].lower().strip(".,;:!?") in _SENTENCE:
        return None
    if value.lastgroup == "number" and parts.get("quote"):
        return f'"{MASK}"', value.end()  # JSON stays JSON
    if _MASKED_LINE.match(value[0]) or _stays(text, found, value[0], weak=weak and not flag):
        return None
    if parts.get("bol") is None and any(word in found["name"].lower() for word in _WHOLE_LINE):
        whole = _TO_QUOTE_OR_END.match(text, value.start())
    elif parts.get("bol") is not None:
        whole = _TO_END_OF_LINE.match(text, value.start())
    else:
        kept = value[0].rstrip(",;.)}")
        return MASK, value.start() + max(len(kept), 1)
    return MASK, whole.end() if whole else value.end()


def _stays(text: str, found: re.Match[str], word: str, *, weak: bool) -> bool:
    """Whether a bare word is not a secret, by itself or by the line that it begins."""
    if _NEXT_PAIR.match(text, found.end() + len(word)):
        return False  # `token=a(&b=c`: the value ends at a guess, so nothing is said for it
    plain = is_plain(word, found["name"], weak=weak) or is_code(word)
    opens = found.groupdict().get("bol") is not None
    if (plain and not opens) or found.re is _FLAG:
        return plain
    line = _LINE.match(text, found.end(), found.end() + _AFTER)
    rest = line[0] if line else word
    # In a config file the value reaches to the end of the line: nothing in it may look generated.
    return (plain and not any(map(str.isdigit, rest[len(word) :]))) or is_message(rest, weak=weak)


def _mask_blocks(text: str) -> str:
    """YAML scalars and lists that begin on the line below their name."""
    pieces: list[str] = []
    done = 0
    for found in _YAML_BLOCK.finditer(text):
        if found.start() < done or not is_secret_name(found["name"]):
            continue
        pieces.append(text[done : found.end()])
        done = found.end()
        while done < len(text):
            end = text.find("\n", done)
            line = text[done : len(text) if end < 0 else end]
            masked = _mask_block_line(line, found)
            if masked is None:
                break
            pieces.append(masked + ("\n" if end >= 0 else ""))
            done = len(text) if end < 0 else end + 1
    return "".join([*pieces, text[done:]]) if pieces else text


def _mask_block_line(line: str, found: re.Match[str]) -> str | None:
    """The line of a block without its content; None when the line is not part of the block."""
    content = line.lstrip(" \t").rstrip("\r")
    indent, margin = len(line) - len(line.lstrip(" \t")), len(found["indent"])
    if not content.strip():
        return line
    if found["style"] is not None:
        return line[:indent] + MASK if indent > margin else None
    weak = is_weak(found["name"], "")
    if content.startswith("- ") and indent >= margin:
        return line if is_plain(content[2:], found["name"], weak=weak) else f"{line[:indent]}- {MASK}"
    # One word on the next line is a folded value; a name with a colon is a block, and several words are a text.
    folded = indent > margin and " " not in content and ":" not in content
    if not folded or is_plain(content, found["name"], weak=weak):
        return None
    return line[:indent] + MASK


def _mask_scheme(found: re.Match[str]) -> str:
    value = found["value"]
    if found["scheme"].lower() == "basic":
        try:
            if b":" not in a2b_base64(value + "=" * (-len(value) % 4)):
                return found[0]
        except BadBase64:
            return found[0]
    elif (
        value.lower().rstrip(".") in _SENTENCE
        or _OPTION.match(value)
        or (found["compound"] is not None and _ORDINARY.match(value))
        or is_plain(value, "bearer-token", weak=False)
    ):
        return found[0]
    return found["scheme"] + found["space"] + MASK
