"""robots.txt: its rules, and the rule that matches a path."""
