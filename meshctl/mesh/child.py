"""Runs one engine process: starts it, reads its log, waits until it is ready, ends its group."""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import shutil
import signal
import socket
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from meshctl.engines.boot import BootFacts, read_line, signature_of
from meshctl.errors import Unreachable
from meshctl.mesh.kin import MARK, Kin
from meshctl.mesh.launch import Launch
from meshctl.mesh.levels import level_of
from meshctl.mesh.log import Log

POLL_S = 0.05
"""Between two looks at a loading engine: small beside the shortest load seen (0.5 s)."""
LAST_WORDS_S = 3.0
"""Longest wait for the rest of a dead engine's log: a worker it left may hold the pipe open."""
KEPT_LINES = 60
LINE_LIMIT = 16_384
LINES_AT_ONCE = 32
"""Some milliseconds of work; a pipe holds 32,768 lines of one character."""


class Child:
    """One engine process and what its log has shown; `start` it first, `stop` it always."""

    def __init__(self, launch: Launch, log: Log) -> None:
        self.launch = launch
        self.port = 0
        self.tail: deque[str] = deque(maxlen=KEPT_LINES)
        self.facts = BootFacts()
        self._log = log
        self._mark = secrets.token_hex(16)
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Where the engine listens."""
        return f"http://127.0.0.1:{self.port}"

    async def start(
        self, environ: Mapping[str, str], engine_dir: Path, load_timeout_s: float
    ) -> None:
        """Returns when the engine is ready. Raises Unreachable with its first real error."""
        check(self.launch, engine_dir)
        self.port = 0 if self.launch.names_port else free_port()
        argv, env = command(self.launch, self.port, environ, engine_dir)
        try:
            self._process = await _spawn(argv, env | {MARK: self._mark})
            self._reader = asyncio.create_task(self._read())
            await self._settle(load_timeout_s)
        except BaseException:
            await self.stop()
            raise

    async def ended(self) -> str:
        """Waits for the process to end by itself, and says how. Code 0 is a crash all the same."""
        assert self._process and self._reader
        code = await self._process.wait()
        await asyncio.wait({self._reader}, timeout=LAST_WORDS_S)
        how = f"was killed by {_signal_name(-code)}" if code < 0 else f"exited with code {code}"
        said = f"the engine of {self.launch.model} {how}"
        if reason := self.facts.cause or self.facts.error:
            return f"{said}: {reason}"
        if known := signature_of(self.launch.engine.signatures, said):
            self.facts = replace(self.facts, signature=known)
            return f"{said}: {known.cause}"
        return said + (f"; its last line: {self.facts.last}" if self.facts.last else "")

    async def stop(self) -> None:
        """SIGTERM to the whole group, then SIGKILL; returns when nothing is left of it.

        Until then the card may still be taken. Cancelled meanwhile, it kills at once.
        """
        if self._process is None:
            return
        self._signal(signal.SIGTERM)
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), self.launch.stop_grace_s)
        finally:
            # Also after a good end: a worker the engine started may have outlived it.
            self._signal(signal.SIGKILL)
            await self._process.wait()
            left = await Kin(self._process.pid, self._mark).end()
            if left:
                pids = ", ".join(map(str, left))
                self._log.say("error", f"the engine of {self.launch.model} cannot be ended: pid "
                              f"{pids} lives on after SIGKILL and may hold the card")  # fmt: skip
            if self._reader:
                self._reader.cancel()

    def _signal(self, number: signal.Signals) -> None:
        assert self._process
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    async def _settle(self, load_timeout_s: float) -> None:
        """Waits for ready or for the end, whichever comes first."""
        ready = asyncio.create_task(self._ready())
        ended = asyncio.create_task(self.ended())
        try:
            done, _ = await asyncio.wait(
                {ready, ended}, timeout=load_timeout_s, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            ready.cancel()
            ended.cancel()
        if ended in done:
            raise self._failed(ended.result())
        if not done:
            seconds = f"{load_timeout_s:.0f} s"
            raise self._failed(
                f"the engine of {self.launch.model} was not ready within {seconds}"
                f" (phase {self.facts.phase}): {self.facts.reason}"
            )
        # From here on only a new complaint explains an end.
        self.facts = replace(BootFacts(), port=self.port, phase="ready")

    def _failed(self, message: str) -> Unreachable:
        return Unreachable(message, hint=self.facts.remedy, place=self.launch.model)

    async def _ready(self) -> None:
        while not await self._answers():
            await asyncio.sleep(POLL_S)

    async def _answers(self) -> bool:
        """200 says ready; 404 and 405 say that there is no such path, but somebody listens."""
        self.port = self.port or self.facts.port or 0
        if not self.port:
            return False
        return await status_of(self.port, self.launch.engine.ready_path) in (200, 404, 405)

    async def _read(self) -> None:
        """Copies the engine's log on, keeps its last lines, and learns from each."""
        assert self._process and self._process.stdout
        async for line in lines_of(self._process.stdout):
            self.tail.append(line)
            self.facts = read_line(self.facts, self.launch.engine, line)
            self._log.engine(self.launch.model, line, level_of(self.launch.engine, line))


def _signal_name(number: int) -> str:
    """`signal 4 (SIGILL)`; those without a name are numbers."""
    with suppress(ValueError):
        return f"signal {number} ({signal.Signals(number).name})"
    return f"signal {number}"


def check(launch: Launch, engine_dir: Path) -> None:
    """Refuses what could not be started: its program or a payload is not there."""
    find_program(launch.argv[0], engine_dir)
    check_files(launch)


def check_files(launch: Launch) -> None:
    """Refuses a payload that is absent or of another size, before an engine explains it worse."""
    fetched = {source.path for source in launch.sources}  # `fetch/` sees to those
    for path, size in launch.files:
        if path in fetched:
            continue
        found = path.stat().st_size if path.is_file() else None
        if found != size:
            shown = "is missing" if found is None else f"has {found} bytes"
            raise Unreachable(
                f"{path} {shown}; the model {launch.model} needs {size} bytes there",
                hint="fetch the payload again, or set MESH_MODELS_DIR",
                place=launch.model,
            )


def command(
    launch: Launch, port: int, environ: Mapping[str, str], engine_dir: Path
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The argument list and environment, wrapped so that the engine dies with this process."""
    name, *arguments = launch.command(port)
    program = find_program(name, engine_dir)
    env = {key: value for key, value in environ.items() if key != "PORT"} | launch.env
    if program.parent == engine_dir.resolve():
        rest = env.get("LD_LIBRARY_PATH")
        env["LD_LIBRARY_PATH"] = f"{program.parent}:{rest}" if rest else str(program.parent)
    return (*deathbound(), str(program), *arguments), env


def find_program(name: str, engine_dir: Path) -> Path:
    """The program in the engine folder, else on PATH; a name with a slash is a path."""
    if "/" not in name and (engine_dir / name).is_file():
        return engine_dir.resolve() / name
    found = shutil.which(name)
    if found is None:
        where = "" if "/" in name else f", neither in {engine_dir} nor on PATH"
        raise Unreachable(
            f"there is no program {name}{where}",
            hint="set MESH_ENGINE_DIR to the folder that holds the engine",
            place=name,
        )
    return Path(found)


def deathbound() -> tuple[str, ...]:
    """setpriv makes the kernel kill the engine when the thread that started it ends.

    That is why engines are started from the event loop's thread, never from a worker.
    """
    return ("setpriv", "--pdeathsig", "KILL", "--") if shutil.which("setpriv") else ()


async def _spawn(argv: tuple[str, ...], env: dict[str, str]) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *argv,
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise Unreachable(f"the engine cannot be started: {error.strerror}") from None


async def lines_of(stream: asyncio.StreamReader) -> AsyncIterator[str]:
    """Lines of any bytes: undecodable ones are marked, endless ones are cut.

    Others have their turn in between: an engine that chatters kept every client waiting once.
    """
    rest = b""
    while chunk := await stream.read(65_536):
        *whole, rest = (rest + chunk).split(b"\n")
        if len(rest) > LINE_LIMIT:
            whole, rest = [*whole, rest], b""
        for number, line in enumerate(whole, 1):
            yield line[:LINE_LIMIT].decode(errors="replace").rstrip("\r")
            if number % LINES_AT_ONCE == 0:
                await asyncio.sleep(0)
    if rest:
        yield rest[:LINE_LIMIT].decode(errors="replace")


def free_port() -> int:
    """A port that was free a moment ago, for engines that cannot choose their own.

    Below 32768, where Linux gives nobody a port unasked (ip(7), ip_local_port_range): of those, one
    went to somebody else before its engine had bound it. Raises Unreachable when all are taken.
    """
    for port in random.sample(range(20_000, 32_768), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise Unreachable("no free port was found for an engine", hint="see who listens: `ss -ltn`")


async def status_of(port: int, path: str, timeout_s: float = 2.0) -> int | None:
    """The status of a GET on loopback; None when nobody answers in time."""
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".encode())
                return _status(await reader.readline())
            finally:
                writer.close()
    except (OSError, TimeoutError, ValueError):
        return None


def _status(line: bytes) -> int | None:
    words = line.split()
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else None
