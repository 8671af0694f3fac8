"""A hostile web on loopback, and real crawls through it.

fault          the words: what a server does, and which outcomes are right
faults         the catalogue, in families; `codings` is the one of bombs and broken codings
sites          serves the catalogue, each fault at a host of its own, and healthy hosts beside them
certificates   what servers of TLS show
trial          crawls it all in a process of its own, and measures that process while it does
verdict        what the store says of each fault, and what of that is wrong

`python -m tests.hostile [WORKERS]` prints the table.
"""
