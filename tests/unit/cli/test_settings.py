"""The global options, before and after the verb, from words and from variables."""

from __future__ import annotations

import pytest

from meshctl.cli.settings import Settings, lift, settings_of
from meshctl.errors import UsageError


def read(line: str, **environ: str) -> tuple[Settings, list[str]]:
    given, rest = lift(line.split())
    return settings_of(given, environ), rest


@pytest.mark.parametrize(
    "line",
    [
        "status -o json",
        "-o json status",
        "--output=json status",
        "status --output json",
        "-ojson status",
        "status -o=json",
        "-o table status -o json",
    ],
)
def test_a_global_option_means_the_same_before_and_after_the_verb(line: str) -> None:
    settings, rest = read(line)

    assert settings == Settings(output="json")
    assert rest == ["status"]


def test_every_option_is_lifted_out_and_the_rest_keeps_its_order() -> None:
    line = (
        "deploy chat --steps 5,100 -y -q -v -f x.yaml --state s --no-color "
        "--timeout 1h30m --lock-wait=10m --reason because"
    )

    settings, rest = read(line)

    assert rest == ["deploy", "chat", "--steps", "5,100"]
    assert settings == Settings(
        fleet="x.yaml", state="s", yes=True, quiet=True, verbose=True, no_color=True,
        timeout_s=5400.0, lock_wait_s=600.0, reason="because",
    )  # fmt: skip


def test_flags_may_be_written_together_and_end_with_a_value() -> None:
    settings, rest = read("-qyojson deploy")

    assert settings == Settings(output="json", yes=True, quiet=True)
    assert rest == ["deploy"]


def test_letters_that_are_not_ours_are_left_to_the_command() -> None:
    settings, rest = read("lock acquire -m night -n5 -xy")

    assert settings == Settings()
    assert rest == ["lock", "acquire", "-m", "night", "-n5", "-xy"]


def test_nothing_is_lifted_from_behind_two_dashes() -> None:
    settings, rest = read("host exec attic -q -- tar -f x -y")

    assert settings == Settings(quiet=True)
    assert rest == ["host", "exec", "attic", "--", "tar", "-f", "x", "-y"]


def test_a_value_may_begin_with_a_dash() -> None:
    settings, rest = read("abort --reason=-y chat")

    assert settings == Settings(reason="-y")
    assert rest == ["abort", "chat"]


def test_each_option_is_also_a_variable() -> None:
    settings, _ = read(
        "status", MESHCTL_FLEET="f.yaml", MESHCTL_STATE="s", MESHCTL_OUTPUT="yaml",
        MESHCTL_YES="1", MESHCTL_QUIET="true", MESHCTL_VERBOSE="on", MESHCTL_NO_COLOR="yes",
        MESHCTL_TIMEOUT="2m", MESHCTL_LOCK_WAIT="3s", MESHCTL_REASON="night",
    )  # fmt: skip

    assert settings == Settings("f.yaml", "s", "yaml", True, True, True, True, 120.0, 3.0, "night")


def test_an_option_wins_over_its_variable() -> None:
    settings, _ = read("status -o json --yes=no", MESHCTL_OUTPUT="yaml", MESHCTL_YES="1")

    assert settings == Settings(output="json", yes=False)


def test_no_color_is_honoured_whatever_its_value() -> None:
    settings, _ = read("status", NO_COLOR="0")

    assert settings.no_color


@pytest.mark.parametrize(
    ("line", "environ", "message", "hint"),
    [
        ("-o jsn", {}, "--output: no format 'jsn'", 'did you mean "json"?'),
        ("x", {"MESHCTL_OUTPUT": "xml"}, "MESHCTL_OUTPUT: no format", "known: json, name"),
        ("status -o", {}, "--output needs a value", "meshctl --help"),
        ("--fleet=", {}, "--fleet needs a value", "meshctl --help"),
        ("--timeout 5", {}, "--timeout: '5' is not a duration", "30s"),
        ("x", {"MESHCTL_LOCK_WAIT": "soon"}, "MESHCTL_LOCK_WAIT: 'soon'", "30s"),
        ("x", {"MESHCTL_YES": "maybe"}, "MESHCTL_YES is 'maybe'", "1 or 0"),
        ("--yes=perhaps", {}, "--yes is 'perhaps'", "1 or 0"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_name(
    line: str, environ: dict[str, str], message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as refused:
        read(line, **environ)

    assert message in refused.value.message
    assert hint in refused.value.hint
