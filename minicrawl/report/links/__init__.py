"""Reports on links: cash flows, graphs, and the links of one page.

backlinks  the links to a page and from it
gifts      the cash that one page got
flows      the links of all pages, with the cash on each
graphs     the graph of pages or hosts, for files
problems   broken links, redirects, orphans, duplicates
written    links as they are written, with their texts
requisites  what kept pages need to be shown
words      the words in and around links
"""
