"""What crosses the fields of a manifest, one module for each kind and each shared block; schemas judge single fields."""
