"""A response without parsing its body.

headers      parsers of headers
types        types of documents, from the head of a response, its URL and its first bytes
prices       upper bounds of the time to parse a body
challenges   answers by which a server blocks robots
soft_404     pages that say "not found" with status 200
"""
