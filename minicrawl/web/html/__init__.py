"""HTML: the encoding, tokens, tags, links and text of a page.

page        from a response to a parsed page, with the other modules; detection of pages with hardly
            any text; the text, for people and for data sets
encoding    from bytes to text
tokens      the relevant tags, their attributes, character references
markup      the content of these tags: title, base, links, canonical, refresh, robots
references  links as written, assets and anchors, for reports
"""
