"""A hostile web on loopback, and real crawls through it.

fault          class of a fault: the behaviour of a server, and the right outcomes
faults         the catalogue, in families; `codings` and `sheets` have a module each
sites          servers of the catalogue, each fault on a host of its own, and of healthy hosts
certificates   certificates of TLS servers
trial          one crawl of all sites in a process of its own, and measurements of that process
verdict        comparison of the outcomes in the store with the right ones

`python -m tests.proofs.hostile [WORKERS]` prints the table.
"""
