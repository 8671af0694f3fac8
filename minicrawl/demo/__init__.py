"""A small web served on loopback, to try a crawl on.

A room beside the core: it can be deleted, with its entry points.

web    all hosts, and the response to each request; an HTTP server; settings for a crawl of the web
sites  ordinary hosts and the places of their pages; the words of the web
pages  content and links of ordinary pages; hubs, and hosts that are difficult for crawlers
pytest_plugin  the fixture `serve_pages`, for tests of programs that crawl
beside_crawl   `crawl --demo`
"""
