"""Run in the foreground: python -m meshctl.emulator --data DIR [--port N] [--settings FILE]."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

from meshctl.emulator import disk, ports, settings, spawn
from meshctl.emulator.cloud import Cloud
from meshctl.emulator.failures import ApiError
from meshctl.emulator.server import Server

LOCKED, PORT_TAKEN, USAGE = 75, 98, 64


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="meshctl.emulator", description="The embedded cloud.")
    parser.add_argument("--data", type=Path, required=True, help="folder of everything it keeps")
    parser.add_argument("--port", type=int, help="port on loopback (default: the one of last time)")
    parser.add_argument("--settings", type=Path, help="JSON file of settings")
    return parser.parse_args(argv)


def _say(text: str) -> None:
    print(f"meshctl.emulator: {text}", file=sys.stderr, flush=True)


def _choose_port(data: Path, wanted: int | None, options: settings.Settings) -> int | None:
    """The port asked for, the remembered one, or a new one; None when the asked one is taken."""
    if wanted is not None:
        return wanted if ports.is_free(wanted) else None
    remembered: int | None = disk.read_json(data / "port.json")
    if remembered and ports.is_free(remembered):
        return remembered
    return ports.pick(options.port_low, options.port_high, set())


async def _serve(data: Path, port: int, options: settings.Settings) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    cloud = Cloud(data, port, options)
    server = Server(cloud, stop)
    try:
        await server.open()
    except OSError:
        _say(f"port {port} is taken by another program")
        return PORT_TAKEN
    await cloud.start()
    _announce(data, cloud)
    await stop.wait()
    disk.remove(data / "endpoint.json")
    await server.stop_listening()
    await cloud.close()
    await server.close()
    return 0


def _announce(data: Path, cloud: Cloud) -> None:
    """Say where we listen, in a way that a reader can tell from a dead one's file."""
    pid = os.getpid()
    disk.write_json(data / "port.json", cloud.port)
    entry = {"url": cloud.url, "pid": pid, "pid_start": spawn.start_of(pid)}
    disk.write_json(data / "endpoint.json", entry | {"boot_id": spawn.boot_id()})
    _say(f"listening on {cloud.url}")


def main(argv: list[str] | None = None) -> int:
    """Run until stopped; the exit code."""
    args = _arguments(argv)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    held = disk.lock(args.data / "lock")
    if held is None:
        _say(f"another instance already runs on {args.data}")
        return LOCKED
    disk.remove(args.data / "endpoint.json")
    try:
        if args.settings is not None and not args.settings.exists():
            raise ValueError(f"{args.settings}: no such file")
        options = settings.load(args.data / "settings.json", args.settings)
    except (ApiError, ValueError) as err:
        _say(f"settings: {err}")
        return USAGE
    port = _choose_port(args.data, args.port, options)
    if port is None:
        _say(f"port {args.port} is taken by another program")
        return PORT_TAKEN
    return asyncio.run(_serve(args.data.resolve(), port, options))


if __name__ == "__main__":
    sys.exit(main())
