"""Is there no end of pages like this one?

detector  asks the others before a page is fetched, and tells them what came of it; hosts that
          repeat themselves under ever new URLs; URLs that lead to the same page, as content has
          proven
quotas    how many pages a host, a site and a network may have; what pages, hosts, sites and
          networks are given by others, and so have earned; which site a host is of, and which
          network it is at
"""
