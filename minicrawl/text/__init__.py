"""Main text of pages, as text and as Markdown, its language, and what pages declare.

A room beside the core: it can be deleted, with its entry points. Functions of markup are pure, and
run in a process that can be killed, see `report.page_texts`.

main       the boxes of a page, which of them are its main text, and what a site teaches of that;
           the main text as Markdown, and its language
wet        files of main texts, as Common Crawl has them
metadata   title, author, dates and the like, as a page declares them, and its structured data
scorers    values of pages for `crawl --score`
"""
