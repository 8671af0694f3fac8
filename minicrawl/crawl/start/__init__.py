"""Begin a crawl, or resume one.

options        seeds and options of a crawl, checked before anything is written; logins in seeds
settings       settings that a store keeps, and settings that are given now
reach          how servers are reached and which limits hold; browsers that are wanted
cookies        one jar of cookies for all workers, in a file beside the store
opening        opens the store: locked, checked, with its archive and its seeds
waiting_again  finds pages that wait again when a crawl is resumed
preview        first pages of a crawl, and the rules of their hosts, for --dry-run
"""
