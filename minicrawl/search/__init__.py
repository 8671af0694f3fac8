"""Search: an index of the words of pages, and the order of what is found.

words        from text to the words that are compared, on both sides
page_text    from markup to title, headings, text and links
query        what a user asks for
boilerplate  blocks that a site repeats on its pages
notes        what the index must remember: anchor texts, blocks, and how far it has come
index        the index itself, a folder of tantivy
minhash      signatures of texts
near_duplicates   pages whose texts are alike
ranking      the second look at the best pages
snippets     the lines of a page that have the words
"""
