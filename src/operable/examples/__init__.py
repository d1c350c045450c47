"""Examples that come with the package: programs to try, to read and to copy."""
