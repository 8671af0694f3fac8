"""The store: one SQLite file. No other package except `archive` and `search` uses SQL.

schema         tables, schema version and migrations
views          views for people, with names instead of numbers
records        rows as plain values
stored_links   the links of a step as bytes, a few for each
written_links  texts of links, in blocks of many pages
disk           the files of a store: their lock, their bytes, their faults
writer         the only writing connection: batches, checkpoints, removal of pages
reader         paths of a store's files; connections that read while a crawl may be writing
user_queries   queries that users write
tables         queries shared by writers and readers
page_columns   numeric columns of all pages, as arrays in blocks
questions      queries about pages and hosts, of reports and of crawls that go on
step_log       queries about steps
request_log    queries about requests
merging        rows of stores that are merged into one
derived        derived data in a file beside the store: ranks, backlinks, topics, checks, samples
"""
