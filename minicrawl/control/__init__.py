"""Steering a crawl from outside: what may be asked for, and how it reaches the crawl.

requests  what may be asked for, as values and as lines of JSON; asks, by the socket beside the
          store
server    listens there, for the crawl
"""
