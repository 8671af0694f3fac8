"""HTTP/1.1 over connections of our own.

client           sends requests, and keeps connections open for the next ones
connection       one connection, one request at a time
http1            requests as bytes, responses from bytes, without I/O
heads            status line and headers
tls              the TLS context and its certificate authorities
"""
