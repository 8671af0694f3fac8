"""Options that change nothing: every command with every option, alone and beside another one.

walk    runs commands over small inputs, and finds what an option changes
data    the commands, their inputs and the values of their options; what may stay as it is, and why
"""
