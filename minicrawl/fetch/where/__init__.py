"""Which addresses a request may connect to: URL to host, host to addresses, the allowed ones.

targets       the host, port and path of a URL; hosts that the user sends elsewhere; which
              addresses are public
resolver      the addresses of a host that may be connected to
lookups       the addresses of a name, as the system finds them
name_servers  the addresses of a name, as name servers tell them
"""
