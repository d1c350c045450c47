"""The vendors' wire formats that the model server speaks, one per file; each ends with `DIALECT`."""
