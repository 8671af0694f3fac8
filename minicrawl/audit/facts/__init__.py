"""Facts of pages that the checks of an audit need: read once, and saved beside the store.

page_facts   facts of one page, from its markup and its headers
page_faults  faults in the markup of one page, counted
noted_facts  facts of all pages, saved, and as columns for the checks
"""
