"""Whole process trees: supervised, adopted and ended, so that no process outlives its owner."""
