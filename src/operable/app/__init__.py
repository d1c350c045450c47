"""Agent Applications: packages with an APP.md, found, trusted, loaded in three steps, and called under rules that hold."""
