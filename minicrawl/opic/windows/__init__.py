"""Windows: how much of its past a page's history remembers, so that ranks follow a changing web.

window         what a window is; static: the whole past
interpolation  one number a page, the flow of the last T
measured       variable: measures of the last k readings; fixed: of the last T; improved-fixed: of
               the last T, but of at least three readings
adaptive       wide where a page is steady, narrow where it changes
by_name        the windows that `--window` can name
"""
