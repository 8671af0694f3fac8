"""A small web of our own, served on loopback, to try a crawl on."""
