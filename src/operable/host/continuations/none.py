"""A fresh session for every turn; nothing of what was said before reaches the agent.

For one-shot work and for debugging. The process of a turn ends with it.
"""

from operable.host.continuation import Strategy, as_it_is, closed, fresh

CONTINUATION = Strategy("none", "A fresh session for every turn", fresh, as_it_is, closed)
