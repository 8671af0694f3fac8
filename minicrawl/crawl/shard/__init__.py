"""A crawl of one shard, where a crawl has several. Nothing of it is imported by other crawls.

traffic   sends what is due after commits, and posts what comes; which part of the pace of each
          address is the shard's; how the shard speaks with the others: what a crawl of a shard is
          given; the shard in its recorder: which pages are foreign, and what waits to be sent
together  what shards tell each other, and when the crawl of one ends; shards begin together, and
          talk quickly while the crawl is young; which pages wait because richer ones wait
          elsewhere
"""
