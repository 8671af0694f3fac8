"""robots.txt: its rules, and the rule that matches a path.

rules   parses robots.txt
match   finds the rule that matches a path
"""
