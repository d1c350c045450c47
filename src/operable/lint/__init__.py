"""Conformance: point it at a program in any language, get per characteristic and per command what it really does.

`engine.lint` is the whole job; `checks/` is the catalogue of what is looked for, `reports/` of how it is reported.
"""
