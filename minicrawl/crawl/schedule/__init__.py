"""Choose the next page.

leases      next page among the hosts that may be contacted now
orders      sort keys of waiting pages: cash, age or chance; distance of a page from the seeds,
            where the user limits it
refresh     next page to read again, and the worth that orders such pages; what hosts say of changes
"""
