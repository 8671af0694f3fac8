"""The search page for everybody.

search  its answers: HTML, JSON, an OpenSearch description, and suggestions
html    its HTML
guard   limits what a client may cost
"""
