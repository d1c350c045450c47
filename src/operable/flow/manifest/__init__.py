"""Workflow manifests as a language: their vocabulary, shape, rules, inheritance and versions."""
