"""Search: a full-text index of the archived pages, and the ranking of results.

A room beside the core: it can be deleted, with its entry points.

page_text        text of a page by its parts; reads kept pages in a process that can be killed
index            the full-text index, a Tantivy folder
notes            data that must outlive a run: anchor texts, boilerplate, watermark
indexing         brings the index up to date, even while a crawl runs
vocabulary       corrects and completes words by those of the index; synonyms and pins from a file
query            parses queries; finds snippets
ranking          re-ranks the best pages
searching        finds pages, and keeps the table of near-duplicates up to date
near_duplicates  finds pages with nearly the same text
serving          the search in a browser: alone, as a dashboard panel, for everybody, and page/
static_site      a search page as files, for a static site
commands         `minicrawl search` and `minicrawl index`
beside_crawl     `crawl --index`
"""
