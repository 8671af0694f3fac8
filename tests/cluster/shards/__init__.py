"""Shards of one crawl, without machines and networks."""
