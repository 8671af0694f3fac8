"""Read budgets of sites that the user did not name. Pure.

families  joins sites by who introduced whom, and limits their reads by their income
rounds    when sums take effect, and running means over all turns
"""
