"""A small web served on loopback, to try a crawl on.

A room beside the core: it can be deleted, with its entry points.

small_web      ordinary hosts and their pages: sizes, words, content and links
web            hubs and difficult hosts, the response to each request, and the server
pytest_plugin  the fixture `serve_pages`, for tests of programs that crawl
beside_crawl   `crawl --demo`
"""
