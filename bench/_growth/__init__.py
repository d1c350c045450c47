"""The operations that `bench.growth` measures, one module per area; each ends with `OPERATIONS`."""
