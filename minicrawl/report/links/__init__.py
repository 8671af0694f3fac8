"""Links of pages.

verdicts       what a person would find behind a link
backlinks      links to a page and from it
problems       broken links, redirects and duplicates
written_links  links as written, with their texts
"""
