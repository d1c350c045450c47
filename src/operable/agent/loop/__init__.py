"""The loop of the agent: model calls, rounds of tool calls, compaction, and how a run stops."""
