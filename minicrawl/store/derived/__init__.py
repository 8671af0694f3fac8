"""What is derived from a store and kept in a file beside it: ranks, and an index of links."""
