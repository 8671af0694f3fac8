"""The crawler's identity to servers: request headers, logins for some origins, and signatures.

headers     the headers that all requests of one kind share, prepared once
logins      a transport that adds credentials, each to requests to its origin only
origins     which headers and logins belong to which origin, from settings, seeds and .netrc
signing     signs requests, so that servers can verify who sent them (Web Bot Auth)
"""
