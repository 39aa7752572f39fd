"""A line of the log is text on a host, one JSON object on Cloud Run, and as grave as it says."""

from __future__ import annotations

import json

import pytest

from meshctl.engines.known import ENGINES
from meshctl.mesh.kept import CHARACTERS, LINES, Kept
from meshctl.mesh.levels import level_of
from meshctl.mesh.line import Line, dated, plain, structured

OWN = Line(1, 1_764_559_800.25, "warning", "", "the queue is long", "req-1")
ENGINE = Line(2, 1_764_559_800.5, None, "smol", 'loading "m"')


def test_on_a_host_a_line_is_text_with_its_speaker() -> None:
    assert plain(OWN) == "mesh warning: the queue is long"
    assert plain(ENGINE) == '[smol] loading "m"'


def test_on_cloud_run_a_line_is_one_object_that_cloud_logging_takes_apart() -> None:
    assert json.loads(structured(OWN)) == {
        "severity": "WARNING", "message": "mesh: the queue is long", "request_id": "req-1",
    }  # fmt: skip
    assert json.loads(structured(ENGINE)) == {
        "severity": "DEFAULT", "message": '[smol] loading "m"', "model": "smol",
    }  # fmt: skip
    odd = structured(Line(3, 0.0, "error", "", "one\ntwo\ud800" + "\0" * 16_384))
    assert "\n" not in odd and len(odd.encode()) < 64 * 1024


def test_what_a_terminal_would_obey_is_shown_as_text() -> None:
    rude = Line(
        4, 0.0, "info", "m", "\x1b[2Jgone\rmesh error: no\nmesh: such \x00\x9b\u2028\tthing é"
    )

    shown = "[m] \\x1b[2Jgone\\rmesh error: no\\nmesh: such \\x00\\x9b\\u2028\tthing é"
    assert plain(rude) == shown
    assert dated(rude).endswith(shown)


def test_in_the_page_of_the_log_a_line_has_its_time_and_its_level() -> None:
    assert dated(OWN) == "2025-12-01T03:30:00.250Z warning mesh: the queue is long"
    assert dated(ENGINE) == '2025-12-01T03:30:00.500Z - [smol] loading "m"'


@pytest.mark.parametrize(
    ("engine", "line", "level"),
    [
        ("llama-server", "0.00.006.418 E failed to open GGUF file", "error"),
        ("llama-server", "0.00.006.418 W no usable GPU found", "warning"),
        ("llama-server", "0.00.006.418 I srv  init: listening", "info"),
        ("llama-server", "12.34.006.418 D slot update_slots", "debug"),
        ("llama-server", "0.00.006.418 X what letter is this", None),
        ("llama-server", "error: invalid argument: --nonsense", "error"),
        ("llama-server", '{"level":"WARN","msg":"slow"}', "warning"),
        ("llama-server", "ggml_cuda_init: failed to initialize CUDA: unknown error", "warning"),
        ("vllm", "(EngineCore pid=7) ERROR 11-30 10:00:00 [core.py:1] x", "error"),
        ("vllm", "INFO 11-30 10:00:00 [api_server.py:1] x", "info"),
        ("vllm", "(APIServer pid=7) INFO:     Started server process [7]", "info"),
        ("vllm", "torch.OutOfMemoryError: CUDA out of memory. Tried", "error"),
        ("generic", "KeyError: rope", "error"),
        ("generic", "write: No space left on device", "error"),
        ("generic", "WARNING:root:careful", "warning"),
        ("generic", 'time=2026 level=warn msg="slow"', "warning"),
        ("generic", '{"severity": "CRITICAL", "message": "x"}', "error"),
        ("generic", '{"level": 30}', None),
        ("generic", '{"level": "err', None),
        ("generic", "Traceback (most recent call last):", None),
        ("generic", "HTTP: 200", None),
        ("generic", "", None),
    ],
)
def test_a_line_of_an_engine_is_as_grave_as_the_engine_says(
    engine: str, line: str, level: str | None
) -> None:
    assert level_of(ENGINES[engine], line) == level


def test_the_last_lines_of_each_speaker_are_kept_in_their_order() -> None:
    kept = Kept()
    kept.add(Line(1, 0.0, "info", "", "the mesh"))
    for number in range(2, LINES + 12):
        kept.add(Line(number, 0.0, None, "loud", f"line {number}"))
    kept.add(Line(9999, 0.0, None, "quiet", "x" * 99_999))

    everything = kept.last(10_000)

    assert [line.number for line in everything][:2] == [1, 12], "a loud engine silences nobody"
    assert len(everything) == LINES + 2 and len(everything[-1].text) == CHARACTERS
    assert [line.model for line in kept.last(2)] == ["loud", "quiet"]
    assert [line.number for line in kept.last(9, "loud", after=LINES + 9)] == [510, 511]
    assert kept.last(9, "nobody") == []
