"""Where a request goes: URL to host, host to addresses, addresses that are allowed."""
