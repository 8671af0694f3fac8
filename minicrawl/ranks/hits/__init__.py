"""HITS: hubs, and the authorities they link to.

hits         the rank itself, and two forms that a few links more or less do not turn over;
             the base set that belongs to a question
singular     pairs of authorities and hubs as singular vectors, by Lanczos' method
communities  the groups that HITS finds beside the largest one
guards       guards against pages that link to each other for the sake of rank
"""
