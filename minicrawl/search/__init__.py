"""Search: an index of the words of pages, and the order of what is found.

page_text        from markup to title, headings, text and links; blocks that a site repeats on its
                 pages; from text to the words that are compared, on both sides
query            what a user asks for; the lines of a page that have the words
notes            what the index must remember: anchor texts, blocks, and how far it has come
index            the index itself, a folder of tantivy
near_duplicates  pages whose texts are alike; signatures of texts
ranking          the second look at the best pages
"""
