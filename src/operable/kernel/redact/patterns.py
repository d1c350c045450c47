"""The shapes of secrets as compiled patterns; apart from `shapes`, because compiling them costs a cold start too much."""

import re

from operable.kernel.redact.shapes import SHAPES

# Not inside a longer word: a digest that happens to contain "AKIA" stays readable. The letter of an escape is not a word.
SHAPE = re.compile(
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]))(?:" + "|".join(pattern for _, pattern in SHAPES) + ")"
)
KEY_ENDS = re.compile(rb"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
