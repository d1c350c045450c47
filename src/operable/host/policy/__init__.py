"""What an agent may do: the gate that every question and every call of a session passes.

`gate` joins the rules (`operable.gate.policy`) with what people answered and with what then happened.
"""
