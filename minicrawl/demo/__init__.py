"""A small web served on loopback, to try a crawl on.

A room beside the core: it can be deleted, with its entry points.

sites          ordinary hosts: their sizes, and the places of their pages
words          names of hosts, topics and sentences
pages          content and links of pages
special_hosts  hubs and difficult hosts
web            the response to each request
settings       settings of a crawl of it
server         HTTP on loopback
pytest_plugin  the fixture `serve_pages`, for tests of programs that crawl
beside_crawl   `crawl --demo`
"""
