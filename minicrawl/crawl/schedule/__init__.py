"""Who is next?

leases    the next page of all hosts that may be asked now
orders    the keys by which pages wait: cash, age or chance
depth     how far a page is from the seeds, if there is a limit
refresh   which page that was read is read again
replay    pages read before spend their cash again, without a request
"""
