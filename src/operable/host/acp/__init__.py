"""The Agent Client Protocol, host side, without I/O: what the arm `acp` is made of."""
