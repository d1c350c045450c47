"""Secrets that are known by their shape, wherever they are: issued tokens and private key blocks.

One alternation of literal prefixes. Each alternative either matches within a bounded look or consumes what it looked at,
so that a hostile text costs linear time. Only formats with a documented prefix are listed: guessing by entropy would eat
digests and identifiers, which are what a log is read for. Python needs two milliseconds to compile the alternation:
a text without any of the prefixes (HINTS) does not cause that.
"""

from operable.kernel.redact.names import MASK, contains_any

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

_PRIVATE_KEY = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[\s\S]*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[\s\S]*)"  # cut off: the rest is the key
)

# (literals, one of which must be present; pattern)
SHAPES: tuple[tuple[str, str], ...] = (
    ("-----BEGIN", _PRIVATE_KEY),
    ("AKIA", r"AKIA[0-9A-Z]{16,}+"),
    ("ASIA", r"ASIA[0-9A-Z]{16,}+"),
    ("ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{20,}+"),
    ("github_pat_", r"github_pat_[A-Za-z0-9_]{20,}+"),
    ("glpat- gldt- glrt- glptt- glcbt- gloas-", r"gl(?:pat|oas|dt|rt|ptt|cbt)-[\w.-]{16,}+"),
    ("xox", r"xox[a-z]-[\w-]{8,}+"),
    ("xapp-", r"xapp-[\w-]{8,}+"),
    ("hooks.slack.com", r"hooks\.slack\.com/[a-z]{1,16}/[\w/-]{8,}+"),
    ("/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/[\w/-]{8,}+"),
    ("AIza", r"AIza[\w-]{30,}+"),
    ("ya29.", r"ya29\.[\w-]{16,}+"),
    ("GOCSPX-", r"GOCSPX-[\w-]{16,}+"),
    ("_live_", r"[srp]k_live_[A-Za-z0-9]{8,}+"),
    ("_test_", r"[srp]k_test_[A-Za-z0-9]{8,}+"),
    ("whsec_", r"whsec_[A-Za-z0-9+/=]{16,}+"),
    ("sk-", r"sk-(?=[\w-]{0,199}[0-9A-Z])[\w-]{16,}+"),  # OpenAI, Anthropic (sk-ant-), OpenRouter (sk-or-)
    ("xai-", r"xai-[A-Za-z0-9]{20,}+"),
    ("gsk_", r"gsk_[A-Za-z0-9]{20,}+"),
    ("hf_", r"hf_[A-Za-z0-9]{20,}+"),
    ("r8_", r"r8_[A-Za-z0-9]{20,}+"),
    ("npm_", r"npm_[A-Za-z0-9]{20,}+"),
    ("pypi-", r"pypi-Ag[\w-]{16,}+"),
    ("dckr_", r"dckr_(?:pat|oat)_[\w-]{16,}+"),
    ("dop_v1_", r"dop_v1_[0-9a-f]{32,}+"),
    ("shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32,}+"),
    ("SG.", r"SG\.[\w-]{16,}+\.[\w-]{16,}+"),
    ("hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{20,}+"),  # Vault
    ("tskey-", r"tskey-[a-z]{2,12}-[\w-]{8,}+"),
    ("lin_api_", r"lin_api_[A-Za-z0-9]{20,}+"),
    ("ATATT3", r"ATATT3[\w=-]{20,}+"),
    ("AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[A-Z0-9]{20,}+"),
    ("eyJ", r"eyJ[\w-]{16,}+(?:\.[\w-]*+){0,4}"),  # JWT, JWE and other base64url JSON
    (":AA", r"(?:bot)?[0-9]{8,10}:AA[\w-]{32,}+"),  # Telegram
)

HINTS = tuple(hint for hints, _ in SHAPES for hint in hints.split())


KEY_BEGINS = b"PRIVATE KEY"
_compiled: "list[re.Pattern[str]]" = []


def has_shape(text: str) -> bool:
    """Whether something in the text is a secret by its shape."""
    if not contains_any(text, HINTS):
        return False
    return _shape().search(text) is not None


def mask_shapes(text: str) -> str:
    """The text without what is a secret by its shape."""
    if not contains_any(text, HINTS):
        return text
    return _shape().sub(MASK, text)


def _shape() -> "re.Pattern[str]":
    """All shapes as one pattern. It is compiled when a text needs it: that costs a cold start too much."""
    if not _compiled:
        import re

        # Not inside a longer word: a digest that happens to contain "AKIA" stays readable. The letter of an escape is
        # not a word.
        alternatives = "|".join(pattern for _, pattern in SHAPES)
        _compiled.append(re.compile(r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]))(?:" + alternatives + ")"))
    return _compiled[0]
