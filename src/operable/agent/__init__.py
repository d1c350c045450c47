"""The built-in agent: a tool-using model that hosts drive over JSON-stream or ACP, and people in the terminal."""
