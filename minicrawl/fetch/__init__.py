"""Fetches one URL: from a request to a value that describes its outcome.

fetcher          one request with its deadline, and the interpretation of its response
access           the crawler's identity to servers: headers and logins
transport        interface between the fetcher and the HTTP clients, and the errors they raise
connection       HTTP/1.1 client with its own connection pool
by_httpx         client built from httpx's parts, for proxies and HTTP/2
proxy            proxy settings, and handshakes that open a connection through a proxy
routing          chooses the client for a request; checks proxies before the first request
opening          builds the transport that the settings ask for, and checks it before the crawl
httpx_transport  adapter for any httpx transport
body             reads and decodes the body of a response, within limits
warc             recorded responses from WARC files, in place of the network
http1            HTTP/1.1 without I/O: writes requests and parses responses
resolver         DNS lookups by the system or by name servers; which addresses may be connected to
targets          origin and path of a URL; `--resolve` rules; which addresses are public
tls              certificate settings; TLS over a connection, with session resumption
"""
