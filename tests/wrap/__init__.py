"""Tests of operable.wrap."""
