"""How does a crawl begin, or resume?

beginning   from what a crawl begins, and what is refused before anything is written
seeds     seeds become known and share the endowment
opening   the store is opened: locked, checked, with its archive and its seeds
reach     proxies, certificates and addresses are checked before the first request
logins    what some hosts get besides, from settings and from the URLs of seeds
resume    the settings that a store keeps, and pages that wait again
preview   the first pages of a crawl, for --dry-run
"""
