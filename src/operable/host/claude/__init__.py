"""What the lines of `claude --output-format stream-json` mean, for the arm `claude_stream_json`."""
