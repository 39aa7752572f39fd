"""A plain unit of a program of the host."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from meshctl.errors import Refused
from meshctl.plan.release import EnvSecret
from meshctl.secret import Secret
from meshctl.targets.podman.exec_unit import exec_unit, secrets_text
from tests.fakes import systemd_syntax as systemd
from tests.unit.podman.made import said, unit

COMMAND = ["/opt/llama/llama-server", "-m", "/models/a b.gguf", "", "$x %h;", ";"]
HELD = (EnvSecret(name="TOKEN", secret="hf-token", version="3"),)


def test_a_plain_unit_is_written_whole(golden: Callable[[str, str], None]) -> None:
    service = {
        "runtime": "exec",
        "command": COMMAND,
        "mounts": {"/models": "payload:small"},
        "ulimits": {"memlock": "-1", "nofile": "1024:65536"},
        "sweep": {"match": "a b.gguf"},
    }

    text = exec_unit(
        unit(of=service, secrets=HELD, env={"A": "$x 50%"}, folders={"small": "/srv/small"})
    )

    golden("podman/small.service", text)


def test_every_argument_arrives_the_empty_one_too() -> None:
    text = exec_unit(unit(of={"command": COMMAND[:2], "args": COMMAND[2:]}))

    assert [systemd.command_line(line) for line in said(text, "ExecStart")] == [COMMAND]


def test_a_users_plain_unit_keeps_its_secrets_in_the_users_home_and_mounts_nothing() -> None:
    user = {"user": "true"}
    text = exec_unit(unit(target=user, of={"command": COMMAND}, secrets=HELD))

    assert said(text, "EnvironmentFile") == ["%h/.config/meshctl/env/small-155d816ad4"]
    with pytest.raises(Refused, match="cannot mount /m"):
        exec_unit(unit(target=user, of={"command": COMMAND, "mounts": {"/m": "/srv"}}))


def test_a_match_that_is_not_in_the_command_line_is_refused() -> None:
    with pytest.raises(Refused, match="nowhere in the command line"):
        exec_unit(unit(of={"command": COMMAND, "sweep": {"match": "other.gguf"}}))


def test_secrets_are_written_for_systemd_and_never_shown() -> None:
    text = secrets_text({"B": Secret('q"$`\\'), "A": Secret("two\nlines ")})

    assert text.reveal() == 'A="two\nlines "\nB="q\\"\\$\\`\\\\"\n'
    assert "two" not in f"{text} {text!r}"
