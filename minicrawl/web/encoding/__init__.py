"""Encodings: from the bytes of a page to its text, and the queries of its links.

labels      names of encodings, and their codecs
detection   the encoding of a page, and its text
queries     queries of links in the encoding of their page
"""
