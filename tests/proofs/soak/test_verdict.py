"""The verdict finds artificial leaks, and takes no fluctuation for one."""

from collections.abc import Callable
from math import sin

import pytest

from tests.proofs.soak.samples import Sample
from tests.proofs.soak.verdict import after, archive, findings, limits, table

MB = 1_000_000
Series = Callable[[float], float]  # a quantity by the time in seconds


def still(_at_s: float) -> float:
    return 0.0


def samples(
    *,
    memory_mb: Series = still,
    files_mb: Series = still,
    files: Series = still,
    log_mb: Series = still,
    lost: Series = still,
) -> list[Sample]:
    """Make samples of an hour at 50 pages a second, less those `lost`, and 2 ms of CPU a page."""
    return [
        Sample(
            at_s=at_s,
            rss_bytes=(round((60 + memory_mb(at_s) + files_mb(at_s)) * MB), 40 * MB),
            own_bytes=(round((30 + memory_mb(at_s)) * MB), 20 * MB),
            files=round(70 + files(at_s)),
            wal_bytes=round(log_mb(at_s) * MB),
            known=3000,
            pages=round(50 * at_s - lost(at_s)),
            cpu_s=0.1 * at_s,
        )
        for at_s in range(0, 3600, 5)
    ]


def verdict(found: list[Sample]) -> list[bool]:
    return [one.holds for one in findings(found)]


@pytest.mark.parametrize(
    ("leak", "places"),
    [
        (
            samples(
                memory_mb=lambda s: 5 * sin(s / 40),
                files=lambda s: 9 * sin(s / 7),
                log_mb=lambda s: s % 60,
            ),
            set(),  # fluctuation is not growth
        ),
        (samples(memory_mb=lambda s: s / 3600 + 5 * sin(s)), {0, 1}),
        (samples(files_mb=lambda s: s / 3000), {0}),
        (samples(files=lambda s: s / 400), {2}),
        (samples(log_mb=lambda s: 65 * (s == 600)), {3}),
        (samples(lost=lambda s: s * s / 1000), {4}),
        # Dropped pages of mapped files hide no leak.
        (samples(memory_mb=lambda s: s / 3000, files_mb=lambda s: -s / 600), {1}),
    ],
)
def test_a_broken_limit_is_found(leak: list[Sample], places: set[int]) -> None:
    assert verdict(leak) == [number not in places for number in range(5)]


def test_the_warm_up_does_not_count() -> None:
    cold = samples(memory_mb=lambda s: min(s, 600))
    assert verdict(cold)[0] is False
    assert verdict(after(cold, 600)) == [True] * 5


def test_spikes_of_memory_hide_no_leak_and_are_none() -> None:
    def spikes(at_s: float) -> float:
        return 50 * (at_s % 60 > 20) * (at_s > 1800)

    assert verdict(samples(memory_mb=spikes))[0] is True
    assert verdict(samples(memory_mb=lambda s: s / 3000 + spikes(3600 - s)))[0] is False


def test_findings_are_listed_with_their_limits() -> None:
    lines = [*table(samples()), *limits(findings(samples(files=lambda s: s)))]
    assert lines[2] == "| pages/s | 50.0 | 50.0 |"
    assert lines[4] == "| RSS, MB | 100.0 | 100.0 |"
    assert lines[6] == "| least private memory, MB | 50.0 | 50.0 |"
    assert lines[12] == "| RSS grows by | 0.00 MB/h | < 1 | kept |"
    assert lines[14].endswith("| <= 4 | NOT KEPT |")


@pytest.mark.parametrize(
    ("sizes", "holds"),
    [
        ([4, 6, 8, 4, 7, 8, 4], [True, True]),
        ([4, 6, 8], [False, True]),
        ([4, 6, 8, 7, 15], [True, False]),
        ([], [False, False]),
    ],
)
def test_an_archive_must_be_pruned_and_stay_small(sizes: list[int], holds: list[bool]) -> None:
    assert [one.holds for one in archive(sizes)] == holds
