"""Choose the next page.

leases      next page among the hosts that may be contacted now
scope_gate  decides which pages may be fetched at all
orders      sort keys of waiting pages: cash, age or chance; distance of a page from the seeds,
            where the user limits it
refresh     next page to read again, and the worth that orders such pages; what hosts say of changes
"""
