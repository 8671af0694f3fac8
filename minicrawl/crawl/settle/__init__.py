"""Decide what a response means, and make a step of it.

outcome        outcome of a response; the retry policy is a table
descriptions   responses as the log of requests has them
settler        looks up what an outcome is about, plans how the turn ends, and posts one step
cash_shares    how a page splits its cash among its links
posting        hands steps to the recorder, and tells the schedule what they changed; makes pages
               known block by block; lets pages that were read spend what they got since
contents       index from a content to the pages that have it
duplicates     decides which of two pages with one content, on different sites, is the original
"""
