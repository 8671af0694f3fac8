"""HTTP/1.1 over connections of our own.

client           sends requests, and keeps connections open for the next ones
connection       one connection, one request at a time; whom TLS trusts
http1            requests as bytes, responses from bytes, without I/O
heads            status line and headers
"""
