"""Any operable thing as something that a model or a person can call: action -> schema -> words -> bounded result.

The one converter. The built-in agent, MCP and everything else that offers commands to a model use it, so that an option
means the same from every side.
"""
