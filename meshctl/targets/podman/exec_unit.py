"""NAME.service: the unit of a service that is a program of the host itself. Pure.

systemd calls it started once the program runs (`Type=exec`); no engine tells it more, so whether
it serves is asked by the battery, never by the unit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping

from meshctl.errors import Refused
from meshctl.plan.unit_template import OURS
from meshctl.plan.unit_text import Entry, carried, line, quoted, write
from meshctl.secret import Secret
from meshctl.targets.podman import unit
from meshctl.targets.podman.unit import Unit

SYSTEM_SECRETS = "/etc/meshctl/env"
USER_SECRETS = "%h/.config/meshctl/env"


def exec_unit(of: Unit) -> str:
    """The text of NAME.service. Raises Refused for what cannot be rendered without a change."""
    command = (*of.service.command, *of.service.args)
    unit.held(of, command)
    service = [Entry("Service", key, value) for key, value in _service(of, command)]
    ours = [Entry(OURS, name, line(v)) for name, v in sorted(unit.labels(of).items())]
    parts = (unit.head(of), service, unit.standing(of), unit.tail(of), unit.about(of), ours)
    return write(entry for part in parts for entry in part)


def secrets_file(of: Unit) -> str:
    """The file of these very versions of secrets (a rollback finds the old ones beside it), to be
    0600 and its owner's. `%h` is systemd's for the home of the unit's user."""
    named = sorted((one.name, one.secret, one.version) for one in of.secrets)
    which = hashlib.sha256(json.dumps(named).encode()).hexdigest()[:10]
    return f"{USER_SECRETS if of.target.user else SYSTEM_SECRETS}/{of.name}-{which}"


def secrets_text(values: Mapping[str, Secret]) -> Secret:
    """What the file holds, as systemd.exec(5) reads EnvironmentFile=: nothing is filled in there,
    inside double quotes only `\\`, `"`, `$` and the backtick are escaped, lines may go on."""
    lines = (f'{name}="{_shell(value.reveal())}"\n' for name, value in sorted(values.items()))
    return Secret("".join(lines))


def _shell(value: str) -> str:
    carried(value)
    return "".join(f"\\{char}" if char in '\\"$`' else char for char in value)


def _service(of: Unit, command: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    yield "Type", "exec"
    yield "ExecStart", " ".join(quoted(word, dollar=True) for word in command)
    for name, value in sorted(of.env.items()):
        yield "Environment", quoted(f"{name}={value}", dollar=False)
    if of.secrets:
        yield "EnvironmentFile", secrets_file(of)  # without `-`: missing, it must not start
    for folder, path in unit.mounts(of):
        if of.target.user:
            message = f"{of.name}: a user's plain unit cannot mount {path}"
            raise Refused(message, hint="leave `mounts` out, and name the folder in `args`")
        yield "BindReadOnlyPaths", quoted(f"{folder}:{path}", dollar=False)
    for limit, value in sorted(of.service.ulimits.items()):
        yield f"Limit{limit.upper()}", value.replace("-1", "infinity")
    yield "StandardOutput", "journal"
    yield "StandardError", "journal"
