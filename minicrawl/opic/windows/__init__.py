"""Windows: how much of its past a page's history remembers, so that ranks follow a changing web.

A window answers: how much cash flows through a page per tick *now*? Summing the whole past (static)
is right for a web that does not change. On a changing web, old flow must fade. Keeping every
reading with its time would do, but costs memory (`measured`). The interpolating window, the
default, keeps one number H for each page: the flow of the last T ticks. It assumes that the flow
between two readings was even. When a page is read after d ticks and hands on c:

    H = H (T - d) / T + c   if d < T        the part of H that is still within T, plus the new cash
    H = c T / d             if d >= T       only the part of c that flowed within T

Example with T = 100 units, in units of cash:

    read at 100, hands on 10, after 100 since its birth    H = 10 * 100 / 100 = 10
    read at 140, hands on 3                                H = 10 * 60 / 100 + 3 = 9
    at 160, holds 2     estimate 9 * 80 / 100 + 2 = 9.2 in T: 0.092 a unit of time
    read at 290, hands on 3, 150 after the last reading    H = 3 * 100 / 150 = 2

A page that was never read has H = 0 and only a time of birth. Most pages of a crawl are like that,
so `LastReadings` stores these times as runs, and a row for a page only after its first reading.

Estimates are correct up to a factor that is the same for all pages.

window         what a window is; static: the whole past
interpolation  one number a page, the flow of the last T
measured       variable: measures of the last k readings; fixed: of the last T; improved-fixed: of
               the last T, but of at least three readings
adaptive       wide where a page is steady, narrow where it changes
by_name        the windows that `--window` can name

G            cash recorded so far, the clock; here in *ticks* of 2^16 atoms
circulation  number of ticks in which as much cash flows as exists; widths are multiples of it
T            width of a window in ticks
c            cash that a page hands on when it is read; G_i is the time of that reading
d            time since the last reading of the page, or since its birth
"""
