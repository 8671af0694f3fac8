"""Sitemaps and feeds.

sitemap     the URLs and the changes that a sitemap or a feed states, and URLs in XML
json_feed   URLs in a JSON Feed
"""
