"""Link graphs as text, a module for each format.

formats   which format a text has, and the graph in it
edgelist  links between ids, or between names
numbered  nodes first, then links by their numbers; DIMACS
lines     the lines of a file, many at a time
"""
