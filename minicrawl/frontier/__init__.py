"""The frontier: all pages in memory, as a fold over the steps that the store keeps.

pages          the fold: the ledger, the state of each page, and its last spending; what changed
               since the last checkpoint
channels       what a shard has sent to others and received, where a crawl has several
sibling_steps  what siblings have shown, as a fold over the same steps
urls           the URL, host and depth of each page; the seen-set: URL -> page id, in a few bytes
               a page; the site of each host, as soon as somebody asks for it
checkpoint     the rows that a checkpoint writes; the last checkpoint and the steps behind it, and
               whether they fit together
importance     the importance as it is shown, and the share of it that is gathered
"""
