"""Tests of the process in which a node crawls a shard."""
