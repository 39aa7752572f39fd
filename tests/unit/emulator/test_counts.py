"""What is counted stays within its bound and comes back from the disk."""

from __future__ import annotations

from pathlib import Path

from meshctl.emulator.logging.origin import Origin
from meshctl.emulator.monitoring.counts import Counts

CHAT = Origin("p", "l", "chat", "chat-a")


def test_requests_come_back_from_the_disk(tmp_path: Path) -> None:
    counts = Counts(tmp_path / "c.json", 10)
    counts.request(CHAT, 200)
    counts.request(CHAT, 503)
    counts.save()

    again = Counts(tmp_path / "c.json", 10)

    assert list(again.series("requests")) == list(counts.series("requests"))
    assert [(label, sum(m.values())) for _, label, m in again.series("requests")] == [
        ("200", 1),
        ("503", 1),
    ]


def test_the_oldest_minutes_go_first(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('[["p","l","chat","chat-a","200",{"1":5,"2":6,"3":7}]]')
    counts = Counts(tmp_path / "c.json", 3)

    counts.request(CHAT, 200)

    ((_, _, minutes),) = counts.series("requests")
    assert list(minutes.values()) == [6, 7, 1]
