"""Steer a running crawl from outside.

requests  requests to a crawl, as values and as lines of JSON; sends them by the socket beside the
          store
server    listens on that socket, for the crawl
"""
