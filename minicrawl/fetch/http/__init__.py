"""HTTP between the fetcher and its clients: requests and responses as values, and as bytes.

targets   origins, and paths on them
faults    errors of servers and of the network
messages  requests and responses, and the protocol of a transport
heads     parses the head of an HTTP/1 response
framing   where the body of a response ends
http1     HTTP/1.1 without I/O: writes requests and parses responses
"""
