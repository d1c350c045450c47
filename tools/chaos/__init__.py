"""Chaos for the engine: workers that are killed and stopped while jobs run, and a checker that judges what happened."""
