"""Human mode: the same run, shown to a person."""
