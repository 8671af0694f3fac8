"""Sitemaps and feeds: the URLs in them, however broken they are.

sitemap     XML sitemaps, sitemap indexes, RSS, Atom, lists of URLs
json_feed   JSON Feed
"""

MAX_BYTES = 50 * 1024 * 1024
"""Of an unpacked sitemap. The rest is ignored."""
