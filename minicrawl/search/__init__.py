"""Search: an index of what pages say, and the order of what is found.

A room beside the core: it can be deleted, with its entry points.

page_text        from markup to title, headings, text and links; blocks that a site repeats
page_reader      reads kept pages in processes that can be killed
index            the index itself, a folder of tantivy
notes            what the index must remember: anchor texts, blocks, how far it has come
indexing         brings the index up to date, also while a crawl runs
query            what a user asks for, and the lines of a page that have the words
ranking          the second look at the best pages
searching        finds pages, and the pages whose texts are alike (near_duplicates)
serving          the search in a browser, alone and as a panel of the dashboard; page/ is sent
commands         `minicrawl search`; index_command is `minicrawl index`
beside_crawl     `crawl --index`
stored           what `archive info` lists
"""
