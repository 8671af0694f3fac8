"""Parsers for the formats of the web: URLs, HTML, encodings, headers, robots.txt, sitemaps.

urls      parsing, resolution and canonical form of URLs; readable internationalised hosts; sites
scope     which URLs may be fetched, by the user's rules
traps     signs of crawler traps in URLs and texts
headers   parsers of response headers
html      encoding, tags, links and text of a page
robots    robots.txt: its rules, and the rule that matches a path
sitemaps  sitemaps and feeds
cookies   cookies and the cookie jar
words     the words of a text, normalised for comparison
shingles  signatures of texts (MinHash), to find near-duplicates

Everything here is pure: no I/O, no clock.
"""
