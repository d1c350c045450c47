"""Values that are where a secret could be and are not one: words of a message, of code, of a form.

`KeyError: 'x'`, `primary key: id`, `passwd: user does not exist`, `password: str`, `--token TOKEN`, `key=len` are what a log
is read for. Asked only after a name has announced a secret. The ground rule: a value with a digit in it is never plain,
so that nothing that was generated passes. What remains is letters, and those pass only as one of the listed kinds.

A password that is one ordinary word stays masked after `password:`; after a bare `key:` it does not, because there the
sort key, the map key and the database key are far more frequent than a secret.
"""

import re

from operable.kernel.redact.names import words

# The state or the type of something: `auth: required`, `password: string`.
_WORDS = frozenset(
    "required optional missing invalid expired empty unset unknown denied failed disabled enabled default present absent"
    " ok yes no on off set changed rejected accepted refused incorrect wrong redacted hidden none null nil undefined eof"
    " str string text int integer bool boolean bytes number float object array list dict map any char varchar uuid"
    " option self this lambda not return void unchanged".split()
)
# One of these makes several words a message rather than a passphrase.
_MESSAGE = frozenset(
    "not no cannot can't couldn't failed fails failure invalid missing required must expected unexpected error denied"
    " unknown unable found exist exists does doesn't could should is are was were has have may will didn't refused"
    " rejected already specified supported permitted allowed mismatch expired such used unchanged changed".split()
)
_BEGINNINGS = frozenset(
    "a an the this that these your its whether if when which how where what used optional".split()
)
# A sentence about secrets, as documentation has it: "token: the access token".
_TOPICS = frozenset(
    "token password key secret to for of from file user server access name value login api used use".split()
)
# What a message about a name begins with; a password could begin a sentence otherwise: "password: hunter is not valid".
_SUBJECTS = frozenset(
    "file user authentication field value argument option permission entry password token key login credentials account"
    " connection access request command please enter try run see use input header variable server only at too length".split()
)
_READERS = frozenset(
    "input getpass getenv get prompt read ask pop find open require load fetch lookup env os".split()
)
# In front of a bare `key` or `token` they say that it is one of a grammar or of a table.
_ABOUT = re.compile(
    r"""(?:unexpected|invalid|unknown|illegal|bad|next|missing|duplicate|primary|foreign|unique|public|partition|sort|no|such"""
    r"""|unrecognized|reserved|expected|got|found|required|dictionary|map|candidate|composite|host|row|index|cache)"""
    r"""[ \t]++\Z""",
    re.IGNORECASE,
)
_WEAK = (["key"], ["keys"], ["pass"])
_QUALIFIED = (["token"], ["tokens"], ["credential"], ["auth"])
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_.:/\-]{0,30}+\Z")
_CALL = re.compile(
    r"(?:[A-Za-z_][A-Za-z_]*+\.)*+[A-Za-z_]++[(\[][A-Za-z_.,*= ]*+[)\]]*+(?:\.[A-Za-z_]++\(?\)?)*+\Z"
)
_ATTRIBUTE = re.compile(
    r"(?:self|this|cls|os|sys|process|req|request|args|config|settings|env|ctx|context|options|opts|params|props|secrets|vars)"
    r"(?:\.[A-Za-z_]++)++\Z"
)
_REFERENCE = re.compile(
    r"\$\{?[A-Z_]++\}?\Z|%[A-Z_]++%\Z|\{\{[ A-Za-z_.]*+(?:\}\})?\Z|<[A-Za-z_ -]++>?\Z|@[A-Za-z_./~-]++\Z"
    r"|[*•]{3,}\Z|\.{3,}\Z|…\Z|[xX]{3,}\Z"
)
_LINE_NUMBER = re.compile(r"[0-9]{1,6}+(?::[0-9]{1,6}+)?:?\Z")  # `src/token.py:12:`
_MEMBER = re.compile(r"[A-Za-z_]++(?:\.(?:[A-Za-z_]++|[0-9]{1,3}+))++\Z")  # `key: mounts.0.source`
_FILE = re.compile(
    r"\.(?:c|cc|cfg|cpp|css|go|h|html|ini|java|js|json|lock|md|php|py|rb|rs|sh|sql|toml|ts|txt|xml|ya?ml)\Z"
)
# Where a key is instead of the key: a message that does not name the file does not help. The ending or the name of a file
# says what it is, because a secret may begin with `/`, and may have more of them.
_KEY_PATH = re.compile(
    r"(?P<anchor>~?/|\.{1,2}/)?(?:[\w.@+-]{1,64}+/){0,20}+"
    r"(?:id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?(?:\.pub)?|[\w.@+-]{1,64}?\.(?:pem|key|pub|crt|cer|p12|pfx|jks|asc|gpg|age))\Z"
)
# A name that announces a place: `key_file`, `--token-path`.
_PLACES = frozenset(("file", "path", "filename", "folder", "dir", "directory"))
_PLACE = re.compile(r"(?:~?/|\.{1,2}/)[\w.@+-]{1,64}+(?:/[\w.@+-]{1,64}+){0,20}+/?\Z")
_LETTERS = re.compile(r"[A-Za-z]++(?:['’][a-z]++)?\Z")
_QUOTES = "`'\"‘’“”()[]{}<>.,;:!?"
_READ = 100  # characters of a line that are looked at


def is_weak(name: str, before: str) -> bool:
    """Whether this name, behind this text, more often names something else than a secret."""
    found = words(name)
    if found in _WEAK:
        return True
    # `/etc/passwd: No such file`: the last part of a path.
    return (
        before[-1:] in ("/", "\\")
        or _FILE.search(name) is not None
        or (found in _QUALIFIED and _ABOUT.search(before) is not None)
    )


def is_plain(value: str, name: str, *, weak: bool) -> bool:
    """Whether one word, or the content of quotes, is not a secret after this name."""
    if is_key_file(value, name, weak=weak):
        return True
    if weak and (_LINE_NUMBER.match(value) or _MEMBER.match(value.strip(_QUOTES))):
        return True
    if any(map(str.isdigit, value)):
        return False
    core = value.strip(_QUOTES)
    if _REFERENCE.match(value) or _REFERENCE.match(value.rstrip(",;.)]")):
        return True
    if not core:
        return weak and len(value) <= 3  # `unexpected token: }`
    if core.lower() in _WORDS or core.lower() == name.lower():
        return True
    if _is_placeholder(core, name):
        return True
    return weak and _IDENTIFIER.match(core) is not None


def is_key_file(value: str, name: str, *, weak: bool = False) -> bool:
    """Whether it is the path of a file that contains the secret: `signing key: ~/.ssh/id_ed25519`."""
    path = value.rstrip(_QUOTES)
    if words(name)[-1:] and words(name)[-1] in _PLACES and _PLACE.match(path):
        return True
    match = _KEY_PATH.match(path)
    return match is not None and (weak or match["anchor"] is not None)


def is_code(value: str) -> bool:
    """Whether it is an expression that computes or reads the value: `self._next_token()`, `os.environ`."""
    value = value.rstrip(",;:")
    return _CALL.match(value) is not None or _ATTRIBUTE.match(value) is not None


def is_reader(callee: str) -> bool:
    """Whether a call of this name takes a prompt or a place instead of the secret: `input("Password: ")`."""
    return callee.rstrip("( \t").rpartition(".")[2].lower() in _READERS


def is_message(rest: str, *, weak: bool = False) -> bool:
    """Whether the rest of a line is a message or a piece of documentation: several words, one of which says so."""
    first = rest.split(None, 1)
    if len(first) < 2 or not _LETTERS.match(first[0].strip(_QUOTES)):
        return False
    found = [word for word in (word.strip(_QUOTES) for word in rest[:_READ].split()) if word]
    if len(found) < 2 or not all(_LETTERS.match(word) or word.isdigit() or _is_name(word) for word in found):
        return False
    lowered = [word.lower() for word in found]
    if not _MESSAGE.isdisjoint(lowered):
        return weak or lowered[0] in _MESSAGE or lowered[0] in _BEGINNINGS or lowered[0] in _SUBJECTS
    return (weak or lowered[0] in _BEGINNINGS) and not _TOPICS.isdisjoint(lowered)


def _is_name(word: str) -> bool:
    """Names and paths inside a message: `user-name`, `/etc/shadow`."""
    return not any(map(str.isdigit, word)) and _IDENTIFIER.match(word.lstrip("/-")) is not None


def _is_placeholder(core: str, name: str) -> bool:
    """`TOKEN`, `YOUR_API_KEY`, `your-token-here`: the name of the thing instead of the thing."""
    found = words(core)
    if core.isupper() and core.replace("_", "").replace("-", "").isalpha():
        own = {word.rstrip("s") for word in words(name)}
        return bool(own.intersection(word.rstrip("s") for word in found)) or core in (
            "VALUE",
            "FILE",
            "PATH",
            "STRING",
        )
    return len(found) > 1 and found[0] in ("your", "my", "the") and not _TOPICS.isdisjoint(found)
