"""Long output, cut in the middle: its head and its tail say more than its first half."""


def excerpt(text: str, cap: int) -> str:
    """At most about `cap` characters, the halves of both ends around a mark that says what is missing."""
    if len(text) <= cap:
        return text
    half = cap // 2
    return f"{text[:half]}\n... [truncated {len(text) - 2 * half} chars] ...\n{text[-half:]}"


def whole(text: str) -> str:
    """Without lone surrogates (bytes of file names that are not text): neither providers nor protocols can carry them."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text
