"""What a plan shows of a unit."""

from __future__ import annotations

import pytest

from meshctl.plan.change import Change
from meshctl.plan.release import EnvSecret
from meshctl.plan.unit_diff import unit_diff
from meshctl.targets.podman.quadlet import quadlet
from tests.unit.podman.made import unit


def rows(before: str | None, after: str) -> list[tuple[str, str | None, str | None]]:
    return [(change.path, change.before, change.after) for change in unit_diff(before, after)]


def test_the_same_text_is_no_change() -> None:
    text = quadlet(unit(env={"A": "1"}, ports=("1:1", "2:2")))

    assert unit_diff(text, text) == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[S]\nA=1\nB=2", "# c\n[S]\nB=2\n\nA = 1"),
        ("[C]\nVolume=a\nVolume=b", "[C]\nVolume=b\nVolume=a"),
        ("[C]\nEnvironment=A=1 B=2", "[C]\nEnvironment=B=2\nEnvironment=\"A=1\""),
        ("[C]\nEnvironment=A=0\nEnvironment=A=1", "[C]\nEnvironment=A=1"),
        ("[S]\nVolume=a\nVolume=\nVolume=b", "[S]\nVolume=b"),
        ("[S]\nRestart=no\nRestart=always", "[S]\nRestart=always"),
    ],
)  # fmt: skip
def test_another_order_or_spelling_is_no_change(before: str, after: str) -> None:
    assert rows(before, after) == []


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ("[S]\nRestart=no", "[S]\nRestart=always", [("S.Restart", "no", "always")]),
        ("[S]\nA=1", "[S]", [("S.A", "1", None)]),
        (None, "[S]\nA=1", [("S.A", None, "1")]),
        (
            "[C]\nVolume=a\nVolume=b",
            "[C]\nVolume=b\nVolume=c",
            [("C.Volume", "a", None), ("C.Volume", None, "c")],
        ),
        (
            '[Container]\nEnvironment="A=50%% $$x"',
            "[Container]\nEnvironment=A=2",
            [("Container.Environment.A", "50% $x", "2")],
        ),
        (
            "[S]\nExecStartPre=a\nExecStartPre=b",
            "[S]\nExecStartPre=b\nExecStartPre=a",
            [("S.ExecStartPre", "a; b", "b; a")],
        ),
    ],
)
def test_a_difference_is_shown_under_its_key(
    before: str | None, after: str, wanted: list[tuple[str, str | None, str | None]]
) -> None:
    assert rows(before, after) == wanted


def test_a_token_that_a_live_unit_holds_in_clear_is_not_shown() -> None:
    before = "[Container]\nEnvironment=HF_TOKEN=abcdefghijkl\nExec=--api-key=abcdefghijkl"

    shown = str(unit_diff(before, "[Container]"))

    assert "abcdefgh" not in shown
    assert "Container.Environment.HF_TOKEN" in shown


def test_another_version_of_a_secret_is_shown_by_its_name() -> None:
    old, new = (
        quadlet(unit(secrets=(EnvSecret(name="T", secret="hf-token", version=v),))) for v in "12"
    )

    (change,) = unit_diff(old, new)
    assert change == Change(
        path="Container.Secret",
        before="meshctl-hf-token-1,type=env,target=T",
        after="meshctl-hf-token-2,type=env,target=T",
    )
