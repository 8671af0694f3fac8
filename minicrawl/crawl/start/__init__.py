"""How does a crawl begin, or resume?

opening  the store is opened: locked, checked, with its archive and its seeds; from what a crawl
         begins, and what is refused before anything is written; what some hosts get besides, from
         settings and from the URLs of seeds; seeds become known and share the endowment
preview  the first pages of a crawl, for --dry-run; proxies, certificates and addresses are
         checked before the first request
graph_import  a graph file as a store, as if a crawl had read it
resume   the settings that a store keeps, and pages that wait again
"""
