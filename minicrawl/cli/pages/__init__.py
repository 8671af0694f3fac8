"""Commands about pages.

page     a page as it was fetched
explain  rank, state and links of a page
lists    pages, changes, broken links, redirects and duplicates
top      the most important pages or sites
export   pages or links as a file

export_output   writes such a file, or a data set
"""
