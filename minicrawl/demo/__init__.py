"""A small web of our own, served on loopback, to try a crawl on.

A room beside the core: it can be deleted, with its entry points.

web    all hosts, and the page behind each URL; the web on a socket; the settings of a crawl of it
sites  the ordinary hosts, and where each page stands; what all of them write about
pages  what ordinary pages say and link to; hubs, and hosts that are difficult for crawlers
pytest_plugin  the fixture `demo_web`, for tests of programs that crawl
beside_crawl   `crawl --demo`
"""
