"""A campaign against everything that Operable keeps on disk. See `tests/campaign/__main__.py`."""
