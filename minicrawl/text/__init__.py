"""Main text of pages, as text and as Markdown, its language, and what pages declare.

A room beside the core: it can be deleted, with its entry points. Functions of markup are pure, and
run in a process that can be killed, see `report.page_texts`.

main       the boxes of a page, and which of them are its main text
places     where the pages of a site have their main text, learned from several of them
markdown   the same boxes as Markdown
language   the language of a text
wet        files of main texts, as Common Crawl has them
metadata   title, author, dates and the like, as a page declares them
structured JSON-LD, Open Graph, microdata and RDFa Lite, unchanged
scorers    values of pages for `crawl --score`
"""
