"""States of pages: what became of them, and why.

errors          pages that failed or were refused
cuts            refusals that the user may not want, and how to lift them
explanation     reasons for the rank and state of one page
changes         pages that are new, changed or gone
text_diffs      words that came to a page and went from it
discovery       how pages were found
content_counts  URLs that were kept and left out, by type, host and reason
"""
