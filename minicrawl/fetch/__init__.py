"""Fetches one URL: from a request to a value that describes its outcome.

fetcher      one request with its deadline
outcome      what a response means for its request
reach        how servers are reached, checked before the crawl
access       the crawler's identity to servers: headers, logins and signatures
client       HTTP client: its connections, how they are opened, and its pool
http         HTTP as values, and HTTP/1.1 without I/O
proxy        proxy settings, and connections through proxies
tls          certificate settings; TLS over a connection, with session resumption
resolver     DNS lookups by the system or by name servers; which addresses may be connected to
body         reads and decodes a response body within limits of size, time and memory
warc         recorded responses from WARC files, in place of the network
"""
