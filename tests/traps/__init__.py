"""Crawls of a web of traps: what they cost a crawl, and which rule ends each of them."""
