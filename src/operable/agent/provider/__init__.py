"""What every model provider shares: the contract, the wire formats of the vendors, errors and retries."""
