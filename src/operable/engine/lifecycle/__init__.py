"""What becomes of a run: states, and the decisions between them. No I/O: the caller says what happened and when."""
