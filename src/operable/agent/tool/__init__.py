"""The tools of the agent: the contract, where they may reach, who may run them, and tools from outside."""
