"""Bodies that take long to parse."""

PAGE_OF_5_MB = b"".join(b"<a href=/%d?%b>" % (n, b"x" * 480) for n in range(10_000))
A_BLINK_S = 0.25
