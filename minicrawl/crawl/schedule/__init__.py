"""Choose the next page.

leases           next page among the hosts that may be contacted now
orders           sort keys of waiting pages: by siblings, by cash, by age or by chance
depth            distance of a page from the seeds, where the user limits it

refresh          next page to read again
watched_pages    pages that were read: times, changes, and which of them wait
worth            worth of reading a page again, by the strategy of the crawl
hints_of_change  what hosts say of changes, and how far each has been right
dead_targets     targets of links that are requested again to see whether they are still dead
"""
