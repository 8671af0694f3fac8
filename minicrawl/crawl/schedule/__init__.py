"""Which page is next?

dispatch    leases pages, decides what to do with each, and begins their turns
leases      the next page of all hosts that may be asked now
scope_gate  which pages may be fetched at all
aside       pages that are not asked for: closed, parked, reopened
orders      the keys by which pages wait: cash, age or chance
depth       how far a page is from the seeds, if there is a limit
off_focus   how far a page is from what the user looks for, if there is a limit
refresh     which page that was read is read again
worth       by what these pages are ordered
"""
