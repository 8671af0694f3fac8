"""Tests of a crawl of several machines."""
