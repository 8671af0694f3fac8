"""Decide what a response means, and record what it changes.

outcome    outcome of a response; the retry policy is a table
settler    step of an outcome
posting    hands steps to the recorder and notifies the schedule; replays; shares of a page's cash
           for its links
contents   index of contents and the page that had each first; decides which of two pages of
           different sites with one content is the original
recorder   applies changes to the frontier at once and queues their rows
stored     pages and hosts as known, committed or not; URL look-ups
keeping    archive and WARC files: written before each commit, opened with a store, pruned
committer  commits rows in batches and writes checkpoints
"""
