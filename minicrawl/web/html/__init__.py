"""HTML: the tags of a page, its content as a crawl needs it, and its references as written.

attributes      attributes of a tag, and character references
tokens          the pattern that finds the tags that matter to a crawl
scanner         content of these tags: title, base, links, canonical, refresh, robots rules
anchors         the words of a link and around it
page            from a response to a parsed page
thin            pages with hardly any text
scripts         whether scripts may add to a page
hashes          by which pages are compared
page_numbers    numbers of a page that its URL, dates and the clock do not explain
page_text       text, headings and language of a page
references      links with their texts, assets and anchors
written_links   how the links of a page were written, in short
"""
