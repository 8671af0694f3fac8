"""HTML: encoding, tokens, tags, links and text of a page."""
