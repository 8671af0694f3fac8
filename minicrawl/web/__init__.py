"""What the web says, read without asking it: URLs, HTML, encodings, robots.txt, sitemaps.

Pure: no I/O, no clock.
"""
