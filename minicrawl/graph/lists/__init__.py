"""Lists of links as text, numbered or named, and the graphs that they are.

formats         detection of the format of a list, and its parser
lines           blocks of lines, and errors that name a line
edge_lists      edge lists, between ids or between names
numbered_lists  older formats that list the nodes first
"""
