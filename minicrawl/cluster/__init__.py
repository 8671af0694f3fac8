"""A crawl of several machines, joined by a replicated log. Nothing here is imported without it.

engine    what the crawl asks of the log, as a protocol, and what can go wrong
"""
