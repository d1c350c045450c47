"""What Codex says about its work, for the arms `codex_app_server` and `codex_exec_json`."""
