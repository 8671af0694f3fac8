"""Begin a crawl, or resume one.

opening       opens the store: locked, checked, with its settings, its archive and its seeds; shares
              the endowment among the seeds; finds pages that wait again
preparation   logins, headers and cookies; browsers; checks of proxies, certificates and addresses
              before the first request; the first pages of a crawl, for --dry-run
"""
