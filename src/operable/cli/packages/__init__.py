"""What `operable app`, `agent` and `wrap` have in common: packages from elsewhere, added, updated and removed."""
