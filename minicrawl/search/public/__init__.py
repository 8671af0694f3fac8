"""The search page for everybody.

search      its answers: HTML, JSON, an OpenSearch description, and suggestions
html        its HTML
guard       limits what a client may cost
rate_limit  the budget of a client, which refills
"""
