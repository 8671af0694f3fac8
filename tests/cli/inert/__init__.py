"""Search for options without effect: each command with each option, alone and beside another one.

walk    runs commands over small inputs, and finds the effect of an option
data    commands, their inputs, values of their options, and exceptions with their reasons
"""
