"""Parsers of the web's formats: URLs, HTML, encodings, headers, robots.txt, sitemaps.

urls      parse, resolve and canonicalize; hosts with letters beyond ASCII, as people read them;
          hosts that belong together
scope     which URLs may be fetched, by the user's rules
traps     signs of traps in URLs and texts
headers   parsers of response headers
html      the encoding, tags, links and text of a page
robots    robots.txt: its rules, and the rule that matches a path
sitemaps  sitemaps and feeds
cookies   cookies and their jar
words     the words of a text, as they are compared
shingles  signatures of texts, to find those that are alike

All of it is pure: no I/O, no clock.
"""
