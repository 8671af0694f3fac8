"""Encodings: from the bytes of a page to its text, and the queries of its links.

labels      names of encodings, and their codecs; queries of links in the encoding of their page
detection   the encoding of a page, and its text
"""
