"""Rules about calls. `rules` decides about one call, `pattern` matches one rule, `policy_file` reads them.

`tool_call` works out what a call is about, from what its caller says; `shell/` reads command lines, for every module that
must know what a line runs.
"""
