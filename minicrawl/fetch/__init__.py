"""The network: the only part that opens connections."""
