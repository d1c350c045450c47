"""Notes you can search: a real tool on `operable.tool`, and the running example of AOI-CLI."""
