"""What came of a request, and what changes?

outcome      from a response to an outcome; the retry policy is a table
shares       how a page's cash is split among its links
settler      from an outcome to the step that is kept
recorder     applies steps to the frontier at once and commits them in batches
url_lookup   finds the ids of URLs on a thread of its own
duplicates   which of several pages with one content is the original
"""
