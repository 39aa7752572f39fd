"""Who may refer to a file: what the kernel tells of processes, texts that are named, links."""

from __future__ import annotations

import os
from pathlib import Path

from meshctl.outside.disk import walk
from meshctl.outside.procfs import Process, processes
from meshctl.payloads.gather import links_to, opened_by, said_by, texts_of


def process(proc: Path, pid: int, command: str, parent: int = 0, maps: str = "") -> Path:
    """One process as the kernel tells of it."""
    home = proc / str(pid)
    (home / "fd").mkdir(parents=True)
    (home / "cmdline").write_text(command.replace(" ", "\0"))
    (home / "stat").write_text(f"{pid} (a) b) S {parent} 1 1")
    (home / "environ").write_text("MODEL=/m/x.gguf\0PWD=/m/x.gguf\0")
    (home / "maps").write_text(maps)
    return home


def test_processes_are_read_with_their_words_files_and_environment(tmp_path: Path) -> None:
    (tmp_path / "self").mkdir()
    file = tmp_path / "x y.gguf"
    file.touch()
    maps = f"7f-8f r--s 00000000 fe:01 42      {file}\n7f-8f rw-p 00000000 00:00 0\n"
    home = process(tmp_path, 4_000_001, "/bin/engine -m x", maps=maps)
    (home / "fd/3").symlink_to(file)
    (home / "fd/4").symlink_to("socket:[1]")
    (tmp_path / "4000002").mkdir()

    (found,) = processes(tmp_path) or ()

    stat = file.stat()
    assert found.shown == "process 4000001 (engine)"
    assert (found.command, found.environ) == ("/bin/engine\n-m\nx", "MODEL=/m/x.gguf\n")
    assert found.files == {(stat.st_dev, stat.st_ino), (os.makedev(0xFE, 1), 42)}
    assert found.mapped == {str(file)}


def test_who_started_us_may_name_the_file_and_is_no_reference(tmp_path: Path) -> None:
    (tmp_path / "self").mkdir()
    process(tmp_path, os.getpid(), "meshctl x.gguf", parent=4_000_003)
    process(tmp_path, 4_000_003, "sh -c x.gguf")
    process(tmp_path, 4_000_004, "sh -c x.gguf")

    found = {one.pid: one.command for one in processes(tmp_path) or ()}

    assert found == {4_000_003: "", 4_000_004: "sh\n-c\nx.gguf"}


def test_a_kernel_that_tells_nothing_is_told_from_one_without_processes(tmp_path: Path) -> None:
    assert processes(tmp_path) is None


def test_another_payload_command_only_asks() -> None:
    asking = "python\n-m\nmeshctl\npayload\nretire\nx.gguf"
    running = [Process(1, asking, "", None, None), Process(2, "meshctl\nmesh", "A=1", None, None)]

    assert [text.where for text in said_by(running).texts] == [
        "process 2 (meshctl)", "process 2 (meshctl), its environment",
    ]  # fmt: skip


def test_texts_are_read_and_what_is_none_was_not_searched(tmp_path: Path) -> None:
    (tmp_path / "units").mkdir()
    (tmp_path / "units/a.service").write_bytes(b"\xffx.gguf")
    (tmp_path / "units/huge").touch()
    os.truncate(tmp_path / "units/huge", 2**30)
    os.mkfifo(tmp_path / "pipe")

    found = texts_of([tmp_path / name for name in ("units", "pipe", "gone.env")])

    assert [Path(text.where).name for text in found.texts] == ["a.service"]
    assert [Path(one.where).name for one in found.unsearched] == ["huge", "pipe", "gone.env"]


def test_a_file_is_open_by_its_identity_under_whatever_name(tmp_path: Path) -> None:
    (tmp_path / "x.gguf").touch()
    (seen,) = walk(tmp_path).seen
    running = [
        Process(1, "a", "", frozenset({seen.identity}), frozenset()),
        Process(2, "b", "", frozenset(), frozenset({str(tmp_path / "x.gguf")})),
        Process(3, "c", "", None, None),
    ]

    assert [one.where for one in opened_by(running, [seen], tmp_path)] == [
        "process 1 (a)", "process 2 (b)",
    ]  # fmt: skip


def test_links_to_a_file_or_its_folder_count_and_those_to_all_of_it_do_not(tmp_path: Path) -> None:
    (tmp_path / "q").mkdir()
    (tmp_path / "q/x.gguf").touch()
    for name, target in {"a": "q/x.gguf", "b": "q", "c": ".", "d": "/", "e": "q/y"}.items():
        (tmp_path / name).symlink_to(target)
    walked = walk(tmp_path)
    files = [seen for seen in walked.seen if seen.kind == "file"]

    found = [one.where for one in links_to(walked, files, tmp_path)]

    assert found == ["the link a", "the link b"]
