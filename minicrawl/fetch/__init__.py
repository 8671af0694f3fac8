"""Fetches one URL: from a request to a value that says what came of it.

fetcher          a request with its deadline, from start to end, and what its response amounts to
access           who we are to servers: headers and logins
transport        the seam to what sends requests, and what can go wrong there
connection       HTTP/1.1 over connections of our own
by_httpx         the parts of httpx: through proxies, and by HTTP/2
proxy            which proxies there are, and how a connection through one begins
routing          by which of these ways a request goes; finds out before the first request whether
                 proxies can work
opening          makes the transport that the settings ask for; checks these ways before the first
                 request
httpx_transport  sends requests through any transport of httpx
body             reads and decodes the body of a response, within limits
warc             responses that were recorded in WARC files
http1            requests as bytes, responses from bytes, without I/O; status line and headers
resolver         the addresses of a name, as the system finds them; the addresses of a name, as
                 name servers tell them; the addresses of a host that may be connected to
targets          the host, port and path of a URL; hosts that the user sends elsewhere; which
                 addresses are public
tls              which certificates are trusted, and which one we show; TLS over a connection;
                 later ones resume its session; frees the memory of a connection when it ends
"""
