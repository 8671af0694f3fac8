"""Requests by the parts that httpx is made of: through proxies, and by HTTP/2.

client     sends requests, and keeps connections open for the next ones
dialing    how a connection to a host begins: to an address that was judged, or through a proxy
streams    the bytes of a connection, as httpcore takes them
frames     the frames of HTTP/2, counted before they are parsed
lines      one connection: requests and responses on it, by HTTP/1.1 or HTTP/2

httpx's own pool and HTTP/1.1 take no part: see docs/decisions. What an HTTP/1.1 server says is
parsed as on direct connections, so that it means the same.
"""
