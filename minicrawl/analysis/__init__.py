"""A rank from a store or a graph file: where links come from, what is run, what is kept of it."""
