"""Brings the index of a store up to date, even while a crawl runs.

rounds        reads pages in rounds, and adds them with the texts of links to them
page_text     text of a page by its parts
page_reader   reads kept pages in a process that can be killed
boilerplate   lines that a host repeats on its pages
index_folder  the folder of an index: whether it is usable, its lock, its size
following     follows a crawl in a process of its own
"""
