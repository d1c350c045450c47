"""E2B: a cloud sandbox (`mastra-e2b` in the standard). Known by its name, and refused with what is missing.

See `operable.proc.remote` for why, and for what a bridge would have to do.
"""

from operable.proc.remote import remote

SANDBOX = remote("e2b", package="e2b", module="e2b")
