"""The protocols that the scripted agent speaks, one per file; each ends with `VOICE`."""
