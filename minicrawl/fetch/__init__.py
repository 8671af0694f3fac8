"""Fetches one URL: from a request to a value that says what came of it.

fetcher           a request with its deadline, from start to end, and what its response amounts to
where             which addresses a request may connect to
access            who we are to servers: headers and logins
transport         the seam to what sends requests, and what can go wrong there
connection        HTTP/1.1 over connections of our own
by_httpx          the parts of httpx: through proxies, and by HTTP/2
proxy             which proxies there are, and how a connection through one begins
routing           by which of these ways a request goes
opening           makes the transport that the settings ask for
reaching          checks these ways before the first request
httpx_transport   sends requests through any transport of httpx
body              reads and decodes the body of a response, within limits
warc              responses that were recorded in WARC files
"""
