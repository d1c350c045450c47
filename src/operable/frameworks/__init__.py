"""The tools of a `Toolset` in the words of other people's frameworks: one framework per file, each an extra of ours."""
