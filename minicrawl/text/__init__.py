"""Main text of pages, as text and as Markdown.

A room beside the core: it can be deleted, with its entry points. Both functions are pure, and are
called in a process that can be killed, see `report.page_texts`.

main       the boxes of a page, and which of them are its main text
markdown   the same boxes as Markdown
"""
