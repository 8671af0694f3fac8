"""Tests of shards of one crawl, without machines and networks."""
