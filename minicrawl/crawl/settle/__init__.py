"""Decide what a response means, and record what it changes.

outcome    outcome of a response; the retry policy is a table
settler    step of an outcome; hands steps to the recorder and notifies the schedule; replays;
           splits a page's cash among its links
contents   index from a content to its original; decides which of two pages with one content, on
           different sites, is the original
recorder   applies changes to the frontier at once, commits their rows in batches and writes
           checkpoints; reads pages and hosts, committed or not; looks URLs up
keeping    archive and WARC files: written before each commit, opened with a store, pruned
"""
