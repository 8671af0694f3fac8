"""Graph files.

reading  graphs from files of text, plain or gzipped, and the names of their nodes
"""
