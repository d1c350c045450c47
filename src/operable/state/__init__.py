"""Everything on disk, once: locks, files that appear whole, sealed logs."""
