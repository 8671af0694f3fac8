"""HTTP between the fetcher and its clients: requests and responses as values, and as bytes.

messages  requests, responses and faults
heads     parses the head of an HTTP/1 response
http1     HTTP/1.1 without I/O: writes requests and parses responses
"""
