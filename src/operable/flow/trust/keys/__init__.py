"""Keys, signatures, certificates and who is believed."""
