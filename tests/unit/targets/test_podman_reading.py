"""Any answer of a host is a reading: what is not in it is unknown, nothing in it is believed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from meshctl.targets.podman.look import sections
from meshctl.targets.podman.reading import HostReading, Room, read

MARK = "@5f3a"
WHOLE = f"""
{MARK} os
"Debian GNU/Linux 13 (trixie)"
{MARK} kernel
6.12.0
{MARK} boot
88149869-f4b2-4ace-adbc-7084647ff9e0
{MARK} uptime
5455.85 10611.15
{MARK} memory
MemTotal:       24683652 kB
MemFree:          100000 kB
MemAvailable:   22098732 kB
{MARK} disk
Filesystem     1024-blocks      Used Available Capacity Mounted on
/dev/vda         264212084 175768880  75155660      71% /
{MARK} podman
podman version 5.4.2
{MARK} systemd
systemd 257 (257.9-1~deb13u1)
+PAM +AUDIT
{MARK} failed
chat.service loaded failed failed Chat
{MARK} nvidia
{MARK} rocm
{MARK} drm
{MARK} end
"""


def test_a_whole_answer_is_read() -> None:
    assert read(WHOLE, MARK) == HostReading(
        os="Debian GNU/Linux 13 (trixie)",
        kernel="6.12.0",
        boot_id="88149869-f4b2-4ace-adbc-7084647ff9e0",
        uptime_s=5455.85,
        memory=Room(total_bytes=24683652 * 1024, free_bytes=22098732 * 1024),
        disk=Room(total_bytes=264212084 * 1024, free_bytes=75155660 * 1024),
        podman="5.4.2",
        systemd="257",
        failed_units=("chat.service",),
    )


def test_an_answer_that_was_cut_says_so() -> None:
    reading = read(WHOLE.partition(f"{MARK} disk")[0], MARK)

    assert reading.cut and reading.memory and reading.disk is None


def test_more_free_than_there_is_was_misread() -> None:
    assert read(WHOLE.replace("MemAvailable:   22", "MemAvailable:   99"), MARK).memory is None


def test_a_host_that_does_not_know_the_mark_cannot_forge_a_section() -> None:
    forged = WHOLE.replace("6.12.0", "6.12.0\n@other memory\nMemTotal: 1 kB")

    assert read(forged, MARK).memory == read(WHOLE, MARK).memory
    assert "memory" in sections(WHOLE, MARK) and sections(WHOLE, "@other") == {}


@given(st.text())
def test_no_answer_breaks_the_reading(text: str) -> None:
    read(text, MARK)
    read("".join(f"{MARK} {name}\n{text}\n" for name in sections(WHOLE, MARK)), MARK)
