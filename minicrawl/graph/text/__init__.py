"""Link graphs as text, a module for each format.

formats   which format a text has, and the graph in it
edgelist  links between ids
namelist  links between names
numbered  names first, then links by their numbers
lines     the lines of a file, many at a time
"""
