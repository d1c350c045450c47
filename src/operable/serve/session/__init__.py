"""The sessions of the daemon, without HTTP: registry, prompts, workspaces, grounds, delegation, worktrees, recovery."""
