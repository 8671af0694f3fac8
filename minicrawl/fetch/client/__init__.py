"""HTTP/1.1 client over its own connections.

client           sends requests and keeps connections open for the next ones
connection       one connection, one request at a time
dialing          connects to the first address of a host that answers
httpx_transport  sends requests through any httpx transport, such as a mock
"""
