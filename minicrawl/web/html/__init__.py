"""HTML: the encoding, tokens, tags, links and text of a page.

page        a response as a parsed page; the others are its parts; whether a page has next to no
            text; the text, for people and for data sets
encoding    from bytes to text
tokens      the relevant tags, their attributes, character references
markup      the content of these tags: title, base, links, canonical, refresh, robots
references  links as they are written, assets and anchors, for reports
"""
