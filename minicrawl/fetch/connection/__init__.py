"""HTTP/1.1 over connections of our own.

client           sends requests, and keeps connections open for the next ones
connection       one connection, one request at a time
dialing          connects to the first address of a host that answers
tls              which certificates are trusted, and which one we show
idle             the connections that wait for the next request
http1            requests as bytes, responses from bytes, without I/O
heads            status line and headers
"""
