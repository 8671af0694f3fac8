"""Parsers for the formats of the web: URLs, HTML, headers, robots.txt, sitemaps, cookies.

urls        parsing, resolution and canonical form of URLs; hosts and sites; shapes of URLs
scope       which URLs may be fetched, by the user's rules
responses   response headers, types of documents, and the price of parsing a body; challenges and
            soft 404s, by which a response hides that a page is blocked or missing
markup      the text of a page, its relevant tags and their content: title, links, robots rules
html_page   from a response to a parsed page
page_numbers
            numbers of a page that its URL, dates and the clock do not explain
references  text and links of a page as written, for reports and search
documents   documents that are not HTML: plain text, Markdown, feeds, PDF
sitemaps    sitemaps and feeds
robots      robots.txt: its rules, and the rule that matches a path
usage       uses of its pages that a site allows or denies, such as training a model
cookie_jar  cookies, and the jar that keeps them
words       the words of a text; signatures of texts, to find near-duplicates

No network and no clock. The only file that is read is the Public Suffix List, by `urls`.
"""
