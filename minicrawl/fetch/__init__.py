"""Fetches one URL: from a request to a value that describes its outcome.

fetcher      one request with its deadline, and the interpretation of its response; builds the
             client that the settings ask for, and checks it before the crawl
access       the crawler's identity to servers: headers and logins
http         requests and responses between the fetcher and the HTTP client, and their errors;
             HTTP/1.1 without I/O: writes requests and parses responses
connection   HTTP client: its connections, how they are opened, and its pool
http2        HTTP/2 by httpcore, with guards
proxy        proxy settings, and connections through proxies
tls          certificate settings; TLS over a connection, with session resumption
signing      signs requests, so that servers can verify who sent them (Web Bot Auth)
resolver     DNS lookups by the system or by name servers; which addresses may be connected to
body         reads and decodes a response body within limits of size, time and memory
warc         recorded responses from WARC files, in place of the network
"""
