"""Addresses of hosts: looked up, redirected by rules, and checked before a connection.

resolver      resolves a host to addresses that may be connected to, and keeps them
lookups       lookups of names by the system
name_servers  lookups by name servers, with c-ares
rules         rules that redirect a host, as in `--resolve`
addresses     which addresses are public
"""
