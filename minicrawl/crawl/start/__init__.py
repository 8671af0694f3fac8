"""How does a crawl begin, or resume?

seeds     seeds become known and share the endowment
resume    the settings that a store keeps, and pages that wait again
preview   the first pages of a crawl, for --dry-run
"""
