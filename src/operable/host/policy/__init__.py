"""What an agent may do: rules about tool calls, and the gate that every question and every call of a session passes.

`rules` decides about one call, `pattern` matches one rule. `tool_call` works out what a call is about, from what agents
say; `shell_text` and `command_line` read command lines, for every module that must know what a line runs. `gate` joins the
rules with what people answered and with what then happened.
"""
