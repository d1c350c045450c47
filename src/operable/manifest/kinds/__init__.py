"""The kinds of manifests, one per file, each ending with `KIND`; see `operable.manifest.kind`."""
