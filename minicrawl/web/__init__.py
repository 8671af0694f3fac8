"""Parsers of the web's formats: URLs, HTML, encodings, headers, robots.txt, sitemaps.

All of it is pure: no I/O, no clock.
"""
