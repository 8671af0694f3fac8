"""Sitemaps and feeds: the URLs in them, however broken they are."""
