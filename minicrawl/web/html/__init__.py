"""HTML: the encoding, tokens, tags, links and text of a page."""
