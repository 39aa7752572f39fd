"""Fixtures of the embedded cloud's tests; what they use lies in embedded.py."""

from __future__ import annotations

from tests.emulator.cloud.embedded import cloud, own, shared

__all__ = ["cloud", "own", "shared"]
