"""When jobs are due. No clock is read here: the caller says what time it is."""
