"""Main text of pages, as text and as Markdown, its language, and what pages say of themselves.

A room beside the core: it can be deleted, with its entry points. All functions are pure, and are
called in a process that can be killed, see `report.page_texts`.

main       the boxes of a page, and which of them are its main text
places     what the pages of a site have in common, which tells where their main text is
markdown   the same boxes as Markdown
language   the language of a text
wet        files of main texts, as Common Crawl has them
metadata   title, author, dates and the like, as a page declares them
structured JSON-LD, Open Graph, microdata and RDFa Lite, as they are written
"""
