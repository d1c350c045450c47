"""Kinds of setup steps: one file each, named like the `kind` of a manifest's step, ending with `STEP`."""
