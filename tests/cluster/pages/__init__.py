"""Tests of kept pages in a cluster."""
