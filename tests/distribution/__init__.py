"""Tests of `operable.distribution`."""
