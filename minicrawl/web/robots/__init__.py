"""robots.txt and other answers of a site to what a crawler may do.

rules      parser of robots.txt
patterns   the rule that matches a path
usage      uses of its pages that a site allows or denies, such as training a model
"""
