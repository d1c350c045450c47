"""Ways to install a program: one file each, named like the `method` of a manifest, ending with `INSTALLER`."""
