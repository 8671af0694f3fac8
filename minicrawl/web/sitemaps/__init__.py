"""Sitemaps and feeds: the URLs in them, however broken they are.

sitemap     XML sitemaps, sitemap indexes, RSS, Atom, lists of URLs
json_feed   JSON Feed
"""
