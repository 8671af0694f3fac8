"""HTTP/1.1 over connections of our own.

client           sends requests, and keeps connections open for the next ones
pool             the connections of a client, and how many requests are under way
idle             the connections that wait for the next request to their host
dialing          connects to the first address of a host that answers
connection       one connection, one request at a time
cycles           frees the memory of a connection when it ends
tls              which certificates are trusted, and which one we show
tls_layer        TLS over a connection; later ones resume its session
http1            requests as bytes, responses from bytes, without I/O
heads            status line and headers
"""
