"""Modal: a cloud sandbox (`mastra-modal` in the standard). Known by its name, and refused with what is missing.

See `operable.proc.remote` for why, and for what a bridge would have to do.
"""

from operable.proc.remote import remote

SANDBOX = remote("modal", package="modal", module="modal")
