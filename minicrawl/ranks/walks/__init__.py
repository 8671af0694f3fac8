"""PageRank and its variants: the limit of a random walk over the links."""
