"""Which page is next?

dispatch    leases pages, decides what to do with each, and begins their turns; pages that are not
            asked for: closed, parked, reopened
leases      the next page of all hosts that may be asked now
scope_gate  which pages may be fetched at all; how far a page is from what the user looks for, if
            there is a limit
orders      the keys by which pages wait: cash, age or chance; how far a page is from the seeds,
            if there is a limit
refresh     which page that was read is read again; by what these pages are ordered
"""
