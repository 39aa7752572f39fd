"""A log is anybody's bytes: they never break the reading, which is quick and needs little."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from meshctl.engines.diagnosis import LAST_LINES
from meshctl.observe.diagnose import diagnose_bytes
from meshctl.ui.findings import findings_document
from meshctl.ui.render import render

CASES = Path(__file__).parents[1] / "cases" / "findings"
CRASHES = [
    line for name in ("runtime-out-of-memory", "split-name", "image-pull", "mesh-on-cloud-run")
    for line in (CASES / f"{name}.log").read_bytes().splitlines() if not line.startswith(b"# ")
]  # fmt: skip
QUIET = (
    b"(APIServer pid=1) INFO 10-01 21:06:20 [loggers.py:271] Engine 000: Avg prompt throughput: "
    b"99.5 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.3%%, number %d\n"
)
odd = st.one_of(
    st.binary(max_size=60),
    st.sampled_from(CRASHES),
    st.sampled_from([b"{", b'{"message": [1]}', b'{"log": {"log": 1}}', b"[", b'[{"text": 1}]',
                     b"\x1b[", b"\x1b]", b'{"MESSAGE": [300, -1, "x"]}', b"\r\r", b"[m] [m] [m] ",
                     b'{"textPayload": "\\ud800"}', b"[" * 3000, b'{"a":' * 3000]),
)  # fmt: skip
logs = st.lists(odd, max_size=12).map(b"\n".join)


@settings(max_examples=150, deadline=None)
@given(logs, st.integers(1, 70))
def test_any_bytes_in_any_pieces_give_a_document_that_is_bounded_and_can_be_shown(
    log: bytes, size: int
) -> None:
    pieces = (log[start : start + size] for start in range(0, len(log), size))

    document = findings_document("-", diagnose_bytes(pieces))

    assert len(document.last_lines) <= LAST_LINES
    assert all(one.line.isprintable() for one in document.findings)
    assert render(document, 80)
    assert document.data()["kind"] == "findings/v1"


@settings(deadline=None)
@given(st.lists(st.sampled_from(CRASHES), max_size=8), st.integers(1, 500))
def test_how_a_log_is_cut_into_pieces_changes_nothing(lines: list[bytes], size: int) -> None:
    log = b"\n".join(lines)
    pieces = (log[start : start + size] for start in range(0, len(log), size))

    assert diagnose_bytes(pieces).findings == diagnose_bytes([log]).findings


@settings(deadline=None)
@given(st.lists(st.sampled_from(CRASHES), min_size=1, max_size=8))
def test_the_root_stays_first_when_the_log_comes_with_noise_before_and_after(
    lines: list[bytes],
) -> None:
    log = b"\n".join(lines)
    before = [finding.id for finding in diagnose_bytes([log]).findings]

    noisy = diagnose_bytes([QUIET % 1, log, b"\n", QUIET % 2])

    assert [finding.id for finding in noisy.findings] == before


def quiet(count: int) -> Iterator[bytes]:
    for start in range(0, count, 500):
        yield b"".join(QUIET % number for number in range(start, start + 500))


def test_a_long_log_needs_no_more_memory_than_a_short_one() -> None:
    diagnose_bytes(quiet(2_000))  # what is loaded and remembered once is not counted
    tracemalloc.start()
    diagnose_bytes(quiet(20_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 2_000_000, "of a log of 4 MB"


def test_a_line_that_says_nothing_costs_little() -> None:
    lines = list(quiet(10_000))

    began = time.process_time()
    plain = [text.decode().lower().split() for piece in lines for text in piece.splitlines()]
    least = time.process_time() - began
    began = time.process_time()
    diagnosis = diagnose_bytes(lines)
    took = time.process_time() - began

    assert diagnosis.lines_read == len(plain)
    assert took < 60 * least


def test_lines_made_to_be_slow_are_read_in_linear_time() -> None:
    """A pattern that went over a whole line once for each of its places took 20 s for one."""
    hostile = [word * (60_000 // len(word)) + b" error\n" for word in (b"x", b"pull image ", b"a.",
               b"docker://", b"amdgpu", b"-", b"[m] ", b'{"a":', b"\x1b[")]  # fmt: skip

    began = time.process_time()
    diagnose_bytes(hostile)

    assert time.process_time() - began < 10
