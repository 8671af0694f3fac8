"""A crawl of one shard, where a crawl has several. Nothing of it is imported by other crawls.

exchange   how the shard speaks with the others: what a crawl of a shard is given
local      the shard in its recorder: which pages are foreign, and what waits to be sent
traffic    sends what is due after commits, posts what comes, tells and hears facts
ordering   which pages wait because richer ones wait elsewhere
"""
