"""Derived data in a file beside the store, which can be computed again, except for the pings.

file       opens the file: one transaction for each write
ranks      scores of all pages by rank, and the pages of topics that have a rank of their own
backlinks  index of the pages that link to a page
checks     results of link checks
pings      moments at which sites said that pages have changed
samples    figures of a crawl over time
facts      facts of kept pages, for an audit
audits     results of audits, by which the next one tells what is new
"""
