"""Crawls of a web of traps: the requests that each trap takes, and the limit that ends it."""
