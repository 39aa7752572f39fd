"""Two values that differ never look alike, however much of their digests is cut."""

from __future__ import annotations

import pytest

from meshctl.ui.render.plan import values

HEAD = "b179c9523d0e"


@pytest.mark.parametrize("at", [12, 13, 30, 57, 63])
def test_digests_that_differ_in_what_is_cut_show_where_they_part(at: int) -> None:
    rest = "0" * 52
    other = HEAD + rest[: at - 12] + "1" + rest[at - 11 :]

    old, new = values(f"5 bytes, sha256:{HEAD}{rest}", f"5 bytes, sha256:{other}")

    assert old != new
    assert old.startswith(f"5 bytes, sha256:{HEAD}") and new.startswith(old[:28])
    assert max(len(old), len(new)) <= 50


def test_digests_that_differ_at_once_are_cut_to_twelve_digits() -> None:
    found = values(f"sha256:{'a' * 64}", f"sha256:{'b' * 64}")

    assert found == (f"sha256:{'a' * 12}…", f"sha256:{'b' * 12}…")
