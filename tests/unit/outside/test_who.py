"""Who is asking, and whether somebody still lives."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys

from meshctl.outside.who import boot_id, is_dead, myself, process_start


def test_this_process_lives() -> None:
    me = myself()

    assert me.pid == os.getpid()
    assert me.pid_start == process_start(os.getpid())
    assert not is_dead(me)


def test_another_process_under_the_same_number_is_not_the_one_that_was() -> None:
    assert is_dead(dataclasses.replace(myself(), pid_start=1))


def test_nothing_is_known_of_other_hosts_and_other_boots() -> None:
    gone = dataclasses.replace(myself(), pid=2**22 + 1)

    assert is_dead(gone)
    assert not is_dead(dataclasses.replace(gone, host="elsewhere"))
    assert not is_dead(dataclasses.replace(gone, boot="before"))


def test_nothing_is_known_of_another_pid_namespace_of_the_same_boot() -> None:
    here = os.readlink("/proc/self/ns/pid")
    gone = dataclasses.replace(myself(), pid=2**22 + 1)

    assert gone.boot == f"{boot_id()} {here}"
    assert is_dead(gone)
    for unknown in (f"{boot_id()} pid:[1]", boot_id(), ""):
        assert not is_dead(dataclasses.replace(gone, boot=unknown))


def test_a_zombie_is_dead() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    assert process_start(child.pid) is None
    child.wait()


def test_people_read_who_it_is() -> None:
    me = dataclasses.replace(myself(), person="ann", host="desk", pid=7)

    assert str(me) == "ann@desk (pid 7)"
