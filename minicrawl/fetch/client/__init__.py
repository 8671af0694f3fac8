"""HTTP client over its own connections: HTTP/1.1, and HTTP/2 where servers choose it.

client           sends requests and keeps connections open for the next ones
opening          builds the transport that the settings ask for
connection       one HTTP/1.1 connection, one request at a time
byte_stream      one connection that is read and written in bytes, for proxies and HTTP/2
dialing          connects to the first address of a host that answers
http2            HTTP/2 by httpcore, with guards
httpx_transport  sends requests through any httpx transport, such as a mock
"""
