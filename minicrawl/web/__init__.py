"""Parsers for the formats of the web: URLs, HTML, headers, robots.txt, sitemaps, cookies.

urls            parsing, resolution and canonical form of URLs
sites           hosts that belong together
readable_hosts  internationalised host names in readable form
url_shapes      shapes of URLs, by which traps are suspected
scope           which URLs may be fetched, by the user's rules
takedowns       URLs that a store refuses to show and to request
responses       headers, types of documents, prices of bodies, challenges, soft 404s
encoding        from the bytes of a page to its text
html            from a response to a parsed page; references and text of a page
documents       documents that are not HTML: plain text, Markdown, feeds, PDF
sitemaps        sitemaps and feeds
robots          robots.txt, and the uses of pages that a site allows or denies
cookies         cookies, the jar that keeps them, and their files
languages       codes of languages
words           the words of a text
signatures      signatures of texts, to find near-duplicates

No network and no clock. The only file that is read is the Public Suffix List, by `sites`.
"""
