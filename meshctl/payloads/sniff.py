"""Says from its first bytes what a file is, and what it only pretends to be. Pure."""

from __future__ import annotations

from typing import Literal

from meshctl.payloads.header import Problem

Format = Literal["gguf", "safetensors", "opaque"]
_ENDINGS: dict[str, Format] = {".gguf": "gguf", ".safetensors": "safetensors"}
_POINTER = b"version https://git-lfs.github.com/spec/"
_PAGES = (b"<!doctype", b"<html", b"<?xml", b"<head")


def format_of(name: str, start: bytes) -> Format:
    """By the ending; a file without one that we know, by its first bytes."""
    for ending, known in _ENDINGS.items():
        if name.lower().endswith(ending):
            return known
    return "gguf" if start[:4] == b"GGUF" else "opaque"


def pretence(start: bytes, size: int, *, opaque: bool = False) -> Problem | None:
    """What was saved in place of weights; None for what may be weights. An opaque file may begin
    with zeros."""
    text = start[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not size:
        return Problem("empty", "the file is empty")
    if text.startswith(_POINTER):
        return Problem("lfs-pointer", f"a git-lfs pointer, not the {_said(start)} it stands for")
    if text.startswith(_PAGES):
        return Problem("html", "a web page saved as weights: the download met an error or a login")
    if text.startswith(b"{") and b'"error"' in text:
        return Problem("error-answer", "an error of a server saved as weights")
    if not opaque and not any(start[: 2**16]):
        return Problem("zeros", "nothing but zeros where the header should be")
    return None


def _said(start: bytes) -> str:
    """The size in a pointer, as `1,234 bytes`."""
    for line in start[:1024].split(b"\n"):
        word, _, number = line.partition(b" ")
        if word == b"size" and number.strip().isdigit() and len(number) < 20:
            return f"{int(number):,} bytes"
    return "file"
