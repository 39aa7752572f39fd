"""What of the trash may be deleted, and what the journals say must stay."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from meshctl.outside.disk import Seen
from meshctl.outside.procfs import Process
from meshctl.payloads.held import Held
from meshctl.payloads.purge import judge, shown_span
from meshctl.payloads.retention import Retention, retention_of
from meshctl.payloads.trash import Item, Retirement
from meshctl.state.journal import Event, Journal, run_name
from tests.fakes.fake_clock import START
from tests.fakes.memory_store import MemoryStore

SITE = "local:local1"
DAY = datetime.timedelta(days=1)


def held(at: str = "2026-11-30T20:45:00Z", sha256: str | None = "1" * 64, **seen: Any) -> Held:
    item = Item(path="a.gguf", bytes=10, real=4096, sha256=sha256, mtime_ns=1, inode=7, restore="")
    made = Retirement(name="20261130T204500Z", at=at, who="", reason="", folder="/m", warning="",
                      stays=(), ignored=(), items=(item,))  # fmt: skip
    given = {"path": "a.gguf", "kind": "file", "bytes": 10, "real": 4096, "mtime_ns": 1,
             "device": 1, "inode": 7, "names": 1} | seen  # fmt: skip
    return Held(made, item, Seen(**given))


def why(one: Held, retention: Retention | None = None, *running: Process, days: float = 8) -> str:
    (found,) = judge([one], retention or Retention(), running, START + days * DAY, 7 * 86400)
    assert (found.verdict == "due") is (found.why == "")
    return found.why


def test_a_file_is_due_when_the_grace_is_over_and_not_before() -> None:
    assert why(held()) == ""
    assert why(held(), days=7) == ""
    assert why(held(), days=6) == "it stays for another 24h"
    assert why(held(), days=1) == "it stays for another 6 days"


@pytest.mark.parametrize("at", ["2027-01-01T00:00:00Z", "soon", "2026-11-30T20:45:00"])
def test_a_time_that_is_no_age_keeps_a_file(at: str) -> None:
    assert why(held(at))


def test_a_file_that_somebody_changed_in_the_trash_is_kept() -> None:
    assert why(held(bytes=11)) and why(held(inode=8)) and why(held(kind="link"))


def test_a_file_that_a_process_has_open_is_kept() -> None:
    holder = Process(12, "/bin/engine\n-m\nx", "", frozenset({(1, 7)}), frozenset())
    other = Process(13, "/bin/engine", "", frozenset({(2, 7)}), frozenset())
    blind = Process(14, "/bin/engine", "", None, None)

    assert why(held(), None, other, blind) == ""
    assert why(held(), None, other, holder) == "process 12 (engine) has it open"


def test_spans_are_told_in_days_where_they_have_some() -> None:
    spans = [shown_span(seconds) for seconds in (0, 90, 86400, 7 * 86400, 216000)]

    assert spans == ["0s", "1m30s", "24h", "7 days", "2.5 days"]


def deployed(
    store: MemoryStore, number: int, files: dict[str, Any] | None, verb: str = "deploy", **end: Any
) -> None:
    """A run of `chat` that placed release rN as revision vN, and served."""
    release, revision = f"r{number}", f"v{number}"
    run = run_name("chat", SITE, f"2026-11-30T20:45:0{number}.000000Z", "salt")
    act = {"act": "stage-release", "files": files}
    plan = {"to_release": release, "steps": [{"act": act}] if files is not None else []}
    opened = {"verb": verb, "release": release, "revision": revision, "plan": plan}
    ended = {"exit_code": 0, "verdict": "pass", "served": True, **end}
    journal = Journal(store, run)
    journal.append(Event(at="t", kind="opened", data=opened))
    journal.append(Event(at="t", kind="closed", data=ended))


def test_what_a_release_holds_that_can_be_rolled_back_to_stays() -> None:
    store = MemoryStore()
    deployed(store, 1, {"m/a.gguf": [10, "1" * 64]})
    deployed(store, 2, {"m/b.gguf": [20, "2" * 64]})
    retention = retention_of(store)

    assert why(held(), retention) == (
        "release r1 of chat can still be rolled back to, and holds it"
    )
    assert "a file of this size" in why(held(sha256=None), retention)
    assert why(held(sha256="3" * 64), retention) == ""


def test_what_a_release_held_that_never_served_or_was_left_behind_may_go() -> None:
    store = MemoryStore()
    deployed(store, 1, {"m/z.gguf": [30, "4" * 64]})
    deployed(store, 2, {"m/a.gguf": [10, "1" * 64]}, served=False, exit_code=3, verdict="fail")
    deployed(store, 3, {"m/a.gguf": [10, "1" * 64]})
    back = {"verb": "rollback", "from_revision": "v3", "release": "r1", "revision": "v1"}
    run = run_name("chat", SITE, "2026-11-30T20:45:09.000000Z", "salt")
    journal = Journal(store, run)
    journal.append(Event(at="t", kind="opened", data=back))
    journal.append(Event(at="t", kind="closed", data={"exit_code": 0, "served": True}))

    assert why(held(), retention_of(store)) == ""


def test_a_release_of_which_nobody_knows_what_it_holds_keeps_everything() -> None:
    store = MemoryStore()
    deployed(store, 1, None, verb="adopt")

    assert why(held(), retention_of(store)) == "nobody knows whether release r1 of chat holds it"


@pytest.mark.parametrize("files", ["no", {"a": 1}, {"a": [1]}, {"a": ["1", 2]}, [[1, 2]]])
def test_a_journal_may_say_anything(files: Any) -> None:
    store = MemoryStore()
    deployed(store, 1, files)

    assert retention_of(store) == Retention(unknown=("release r1 of chat",), runs=1)
