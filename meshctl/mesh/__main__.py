"""`python -m meshctl.mesh serve` is the process inside a mesh image."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from meshctl.errors import MeshctlError, Unreachable, UsageError

USAGE = """\
usage: python -m meshctl.mesh serve

Serves the models of MESH_MODELS and forwards to the peers of MESH_FEDERATION_PEERS.
Everything else comes from the environment, too:
  PORT                8080     where to listen, once the default model is ready
  MESH_DEFAULT_MODEL           which model answers when none is named
  MESH_MODELS_DIR     models   holds one folder per payload
  MESH_CACHE                   room for the payloads that are fetched into it, such as 20GiB
  MESH_ENGINE_DIR     engine   holds the engine's program and libraries; else PATH
  MESH_LOAD_TIMEOUT   10m      longest load of a model
  MESH_QUEUE          512      requests that may wait for a turn in each group of models
  MESH_MIN_RESIDENCY  5s       how long a loaded model stays at least while others wait
  MESH_MAX_WAIT       30s      after so long a request goes before later ones of another model
  MESH_KEEPALIVE      10s      between two signs of life to a client that waits for a stream
  MESH_KEEPALIVE_GRACE 250ms   for an answer to begin before a stream is opened without it
  MESH_PEER_TIMEOUT   10m      longest silence of a peer that was asked
  MESH_ANSWER         60m      longest time to the first byte of an answer that is no stream
  MESH_SILENCE        10m      longest silence of a stream, and of any answer that has begun
  MESH_PROXY_CONNECT_RETRIES     8    how often a request is sent again to an engine that came back
  MESH_PROXY_CONNECT_BACKOFF_MS  500  and after how long
  MESH_LOG            info     error, warning, info or debug
  MESH_LOG_FORMAT              text, or json for Cloud Logging; json where K_SERVICE is set
  MESH_API_KEYS                keys that clients must show, or @FILE; unset: the mesh is open
  MESH_PEER_KEY                the key that peers are shown, or @FILE
  MESH_ADMIN_SOCKET            where a front on a host is told which backend serves
  MESH_SWITCH_FILE             where it keeps that for its next start; both are set, or none
  MESH_RELEASE, K_REVISION     what x-mesh-release and x-mesh-revision say
"""


def main(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Exit code: 0 stopped as asked, 1 the engine or the port failed, 64 not configured."""
    if list(argv) in (["-h"], ["--help"], ["serve", "--help"], ["serve", "-h"]):
        sys.stdout.write(USAGE)
        return 0
    try:
        _serve(argv, environ)
    except MeshctlError as error:
        return _report(error, environ)
    return 0


def _serve(argv: Sequence[str], environ: Mapping[str, str]) -> None:
    if list(argv) != ["serve"]:
        wrong = next((word for word in argv if word != "serve"), "serve")
        message = f"unknown argument {wrong!r}" if argv else "no command was given"
        raise UsageError(message, hint="the only command is: python -m meshctl.mesh serve")
    from meshctl.mesh.erasing import erase
    from meshctl.mesh.keys import SECRETS
    from meshctl.mesh.log import Log
    from meshctl.mesh.secret_files import opened, without_secrets
    from meshctl.mesh.serve import run
    from meshctl.mesh.settings import read_settings

    settings = read_settings(opened(environ))
    erase(SECRETS)
    run(settings, without_secrets(environ), Log(settings.log, settings.log_form))


def _report(error: MeshctlError, environ: Mapping[str, str]) -> int:
    """An engine that does not start is a plain failure of this process, not an exit code 6."""
    from meshctl.mesh.line import Line, structured

    place = f"{error.place}: " if error.place and error.place not in error.message else ""
    for text in filter(None, (place + error.message, error.hint)):
        line = Line(0, 0.0, "error", "", text)
        sys.stderr.write((structured(line) if _is_json(environ) else line.marked) + "\n")
    return 1 if isinstance(error, Unreachable) else error.exit_code


def _is_json(environ: Mapping[str, str]) -> bool:
    from meshctl.mesh.settings import log_form

    try:
        return log_form(environ) == "json"
    except UsageError:  # it may be the very mistake that is reported
        return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
