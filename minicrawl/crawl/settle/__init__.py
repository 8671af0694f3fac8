"""What came of a request, and what changes?

outcome    from a response to an outcome; the retry policy is a table
settler    from an outcome to the step that is kept
posting    hands steps to the recorder, and tells the schedule what changed; replays; how a page's
           cash is split among its links
contents   which page was the first with a content; which of two pages of different sites with one
           content is the original
recorder   applies what happens to the frontier at once, and has it committed
stored     what is known of pages and hosts, in the store or on its way there; URL look-ups
keeping    where answers are kept, before each commit; opens the archive and the WARC files of a
           store, and prunes the archive; the WARC files that a crawl writes
committer  commits rows in batches, and writes checkpoints
"""
