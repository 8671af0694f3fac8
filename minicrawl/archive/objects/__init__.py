"""Finished files of an archive in an object store, of which ranges are read.

bucket        the object store behind a URL: puts, ranges, deletions, its errors in plain words
moved_file    a file that is there, by the stub that it left in its folder; moving and recalling
"""
