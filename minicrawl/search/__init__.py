"""Search: a full-text index of the archived pages, and the ranking of results.

A room beside the core: it can be deleted, with its entry points.

index                 the full-text index, a Tantivy folder
index_queries         queries in its words
entries               what it stores of a page
notes                 data that must outlive a run: anchor texts, boilerplate, watermark
indexing              brings the index up to date, even while a crawl runs
words                 words of a query, of the index, and in a text
ranking               re-ranks the best pages
searching             finds pages
topics                ranks of topics, mixed by query
importance_file       the importance of all pages, beside the index
near_duplicates       finds pages with nearly the same text, and keeps the table of them
serving               the search in a browser: alone and as a dashboard panel, and page/
public                the search page for everybody
static_site           a search page as files, for a static site
page_look             title, text and colours of both
commands              `minicrawl search` and `minicrawl index`
beside_crawl          `crawl --index`
"""
