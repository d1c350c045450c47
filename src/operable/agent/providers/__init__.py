"""Where answers come from, one provider per file; each ends with its `MODEL`."""
