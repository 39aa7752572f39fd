"""The first cause of a log is named, whatever carried it; what is not known is not guessed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from meshctl.engines.catalogue import CATALOGUE, FAMILIES
from meshctl.engines.diagnosis import LAST_LINES, Diagnosis, diagnosed
from meshctl.engines.signatures.system import SYSTEM_MILESTONES
from meshctl.engines.tells import tells
from meshctl.observe.diagnose import diagnose_bytes

CASES = Path(__file__).parents[2] / "cases" / "findings"
LOGS = sorted(path.stem for path in CASES.glob("*.log"))
LINES: dict[str, list[str]] = yaml.safe_load((CASES / "lines.yaml").read_text())
EXAMPLES = [(id, text) for id, texts in LINES.items() for text in texts]


def case(name: str) -> tuple[list[str], str]:
    """The ids a log must show, the root first, and the log without its header."""
    lines = (CASES / f"{name}.log").read_text().splitlines(keepends=True)
    head = [line for line in lines if line.startswith("# ")]
    wanted = next(line for line in lines if line.startswith("# ids:"))
    assert any(line.startswith("# source: ") for line in head), name
    return wanted.removeprefix("# ids:").split(), "".join(lines[len(head) :])


def ids(diagnosis: Diagnosis) -> list[str]:
    return [finding.id for finding in diagnosis.findings]


def read(text: str) -> Diagnosis:
    return diagnose_bytes([text.encode()])


@pytest.mark.parametrize("name", LOGS)
def test_a_log_shows_exactly_its_findings_the_root_first(name: str) -> None:
    wanted, text = case(name)

    assert ids(read(text)) == wanted


@pytest.mark.parametrize(("id", "text"), EXAMPLES)
def test_a_known_line_is_known_by_its_id_and_brings_cause_and_remedy(id: str, text: str) -> None:
    finding = diagnosed(text.split("\n")).findings[0]

    assert finding.id == id
    assert finding.signature.cause and finding.signature.remedy and finding.signature.source


def test_every_failure_has_a_line_that_shows_it_and_every_line_a_failure() -> None:
    assert set(LINES) == {signature.id for signature in CATALOGUE}


def test_every_failure_can_be_reached_past_all_that_stand_before_it() -> None:
    found = {id(one.signature) for _, text in EXAMPLES
             for one in diagnosed(text.split("\n")).findings}  # fmt: skip
    shapes = {signature.id for signature in CATALOGUE if id(signature) not in found}

    assert shapes == set()


@pytest.mark.parametrize(("id", "text"), EXAMPLES)
def test_no_known_line_is_passed_over_for_its_words(id: str, text: str) -> None:
    assert all(tells(line) for line in text.split("\n"))


def test_no_milestone_of_any_log_is_passed_over_for_its_words() -> None:
    stones = [*SYSTEM_MILESTONES, *(stone for family in FAMILIES for stone in family.milestones)]
    lines = [line for name in LOGS for line in case(name)[1].splitlines()]

    shown = [line for line in lines if any(stone.pattern.search(line) for stone in stones)]

    assert len(shown) > 20
    assert [line for line in shown if not tells(line)] == []


CARRIERS: dict[str, Callable[[str], str]] = {
    "journald": lambda line: f"Nov 30 10:00:00 attic podman[77]: {line}",
    "journald, iso": lambda line: f"2026-11-30T10:00:00+0000 attic chat[77]: {line}",
    "podman -t": lambda line: f"2026-11-30T10:00:00.123456789Z {line}",
    "kubernetes": lambda line: f"2026-11-30T10:00:00.123456789Z stderr F {line}",
    "compose": lambda line: f"engine-1  | {line}",
    "the mesh": lambda line: f"[org/m:q4] {line}",
    "the page of a mesh": lambda line: f"2026-11-30T10:00:00.123Z error [m] {line}",
    "colour": lambda line: f"\x1b[31;1m{line}\x1b[0m",
    "progress": lambda line: f"10%\r20%\r{line}",
    "meshctl logs": lambda line: f"20:45:12 r1-x ERROR  {line}",
    "journald, json": lambda line: json.dumps({"MESSAGE": line, "PRIORITY": "6"}),
    "journald, bytes": lambda line: json.dumps({"MESSAGE": list(line.encode())}),
    "docker": lambda line: json.dumps({"log": f"{line}\n", "stream": "stderr"}),
    "cloud logging": lambda line: json.dumps({"textPayload": line, "insertId": "1"}),
    "structured": lambda line: json.dumps({"jsonPayload": {"message": f"[m] {line}"}}),
    "a mesh in docker under journald": lambda line: (
        "Nov 30 10:00:00 h docker[7]: "
        + json.dumps({"log": json.dumps({"message": f"[m] {line}"})})
    ),
}


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("name", [name for name in LOGS if name != "cloud-logging-export"])
def test_what_carries_a_log_does_not_change_what_it_shows(name: str, carrier: str) -> None:
    wanted, text = case(name)

    carried = "\n".join(CARRIERS[carrier](line) for line in text.splitlines())

    assert ids(read(carried)) == wanted


def test_a_finding_says_its_phase_its_engine_its_line_and_what_shows_it() -> None:
    found = read(case("runtime-out-of-memory")[1]).findings[0]

    assert (found.phase, found.engine, found.line_number) == ("runtime", "vllm", 11)
    assert found.line.startswith("torch.OutOfMemoryError: HIP out of memory")
    assert found.evidence[0] == "line 6: INFO:     Application startup complete."
    assert found.evidence[1] == "line 12: EngineCore encountered a fatal error."


def test_the_same_again_is_counted_and_a_later_line_says_which_part_did_not_fit() -> None:
    found = read(case("llama-memory-load")[1]).findings[0]

    assert (found.phase, found.engine, found.line_number) == ("load", "llama-server", 2)
    assert "cudaMalloc failed: out of memory" in found.line
    assert "alloc_tensor_range" in found.evidence[1]
    assert found.evidence[-1] == "named in 5 lines, the last of them 7"


def test_what_a_later_start_overcame_stands_behind_what_still_holds_and_says_so() -> None:
    first, second = read(case("overcome")[1]).findings

    assert first.id == "exit-zero-after-ready"
    assert second.evidence[-1] == "overcome: ready in line 2"


def test_one_model_that_gets_ready_overcomes_nothing_of_another() -> None:
    log = ["[a] OSError: [Errno 98] Address already in use", "[b] Application startup complete"]

    found = diagnosed(log).findings[0]

    assert found.evidence == ("said by a",)


def test_of_what_is_not_known_the_first_complaint_and_the_last_distinct_lines_are_shown() -> None:
    diagnosis = read(case("unknown")[1])

    assert diagnosis.findings == ()
    assert diagnosis.complaint is not None
    assert (diagnosis.complaint.line, diagnosis.complaint.line_number) == ("KeyError: 'rope'", 2)
    assert diagnosis.last_lines == ("loading", "KeyError: 'rope'", "goodbye")


def test_only_so_many_last_lines_are_shown_without_their_times() -> None:
    log = [f"2026-11-30T10:00:{n % 60:02}Z step {n // 3}" for n in range(300)]

    lines = diagnosed(log).last_lines

    assert lines == tuple(f"step {n}" for n in range(100 - LAST_LINES, 100))


def test_an_export_of_the_newest_first_is_read_from_the_oldest() -> None:
    diagnosis = read(case("cloud-logging-export")[1])

    assert [(one.id, one.line_number) for one in diagnosis.findings] == [
        ("no-device", 1), ("probe-failed", 2),
    ]  # fmt: skip


def test_what_meshctl_logs_printed_as_json_is_read_too() -> None:
    row = {"at": "2026-11-30T10:00:00Z", "severity": "ERROR", "revision": "chat-1",
           "text": "RuntimeError: No CUDA GPUs are available"}  # fmt: skip

    assert ids(read(json.dumps({"kind": "logs/v1", "lines": [row]}, indent=2))) == ["no-device"]


@pytest.mark.parametrize(
    "log",
    [b"[\n" + b'{"textPayload": "OSError: [Errno 28] No space left on device",\n',
     b'{"message": "OSError: [Errno 28] No space left on device' + b"x" * 200_000,
     b"\xff\xfe\x00 OSError: [Errno 28] No space left on device",
     b"OSError: [Errno 28] No space left on device" + b"\x00" * 9_000_000],
    ids=["cut export", "endless line of JSON", "no UTF-8", "endless line"],
)  # fmt: skip
def test_what_is_broken_is_read_as_far_as_it_goes(log: bytes) -> None:
    pieces = (log[start : start + 100_000] for start in range(0, len(log), 100_000))

    diagnosis = diagnose_bytes(pieces)

    assert ids(diagnosis) == ["disk-full"]
    assert all(len(finding.line) <= 500 for finding in diagnosis.findings)


def test_a_line_behind_an_endless_one_keeps_its_number() -> None:
    log = b"x" * 1_000_000 + b"\n" + b"OSError: [Errno 28] No space left on device\n"

    diagnosis = diagnose_bytes(log[start : start + 4096] for start in range(0, len(log), 4096))

    assert [finding.line_number for finding in diagnosis.findings] == [2]


SECRET = "hf_" + "Ab1" * 10
SHOWN: list[Any] = [
    f"ValueError: No space left on device for {SECRET}",
    f"ValueError: No space left on device, HF_TOKEN={SECRET}",
    f"{'x' * 470} No space left on device {SECRET}",
]


@pytest.mark.parametrize("line", SHOWN)
def test_no_line_that_is_shown_holds_a_key_of_a_known_form(line: str) -> None:
    known, unknown = diagnosed([line]), diagnosed([line.replace("No space left on device", "odd")])

    told: Iterator[str] = (str(one) for one in (*known.findings, unknown.complaint))
    assert not any("Ab1Ab1" in text for text in (*told, *known.last_lines, *unknown.last_lines))
