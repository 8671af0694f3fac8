"""Begin a crawl, or resume one.

opening  opens the store: locked, checked, with its archive and its seeds; refuses contradictions
         before anything is written; logins, headers and cookies of hosts; makes seeds known and
         shares the endowment among them
preview  the first pages of a crawl, for --dry-run; checks proxies, certificates and addresses
         before the first request
graph_import  turns a graph file into a store, as if a crawl had read it
resume   settings that a store keeps, and pages that wait again
"""
