"""The runs on disk: what was asked for, started and ended. The rows are the truth; tickets only wake workers."""
