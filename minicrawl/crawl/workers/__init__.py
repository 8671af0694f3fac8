"""Which process does it?

pool         chooses the process that fetches and parses a page
supervisor   starts worker processes, watches them and ends them
channel      carries pickled values between two processes
worker       the other end of the channel
visitor      fetches one URL and hands its body to a parser
parser       parses pages; large ones in a process that can be killed
blame        tells which request a worker was busy with when it died
"""
