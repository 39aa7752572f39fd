"""How the small documents look: build, embedded cloud, locks, demo. Pure."""

from __future__ import annotations

from meshctl.quantities import show_bytes, show_seconds
from meshctl.ui.answers import Demo, DemoClient, DemoScene, LockEntry, Locks
from meshctl.ui.documents import Build, Emulator, FaultEntry, Faults
from meshctl.ui.render.text import columns, facts, minute, sign, wrapped_facts


def build_lines(document: Build) -> list[str]:
    """What was built, in full: these lines are copied into other places."""
    how = "reused: nothing that goes into it changed" if document.reused else "built"
    head = f"✓ {document.image}: {how}" if document.digest else f"… {document.image}: being built"
    return [
        head,
        *facts(
            [
                ("tag", document.tag),
                ("digest", document.digest),
                ("build", document.build),
                ("uploaded", show_bytes(document.bytes) if document.bytes else None),
            ]
        ),
    ]


def emulator_lines(document: Emulator) -> list[str]:
    """Where the embedded cloud listens, or that it does not."""
    if document.state == "stopped":
        return ["the embedded cloud is stopped"]
    return [f"the embedded cloud is running at {document.url} (pid {document.pid})"]


def faults_lines(document: Faults) -> list[str]:
    """One row an order, then the quota limits that were changed."""
    head = ("FAULT", "METHOD", "PATH", "WHEN", "STRUCK")
    rows = [_fault(fault) for fault in document.faults]
    lines = columns([head, *rows]) if rows else ["no faults"]
    for quota, limits in document.quota_limits.items():
        lines += [f"{quota}: {value} ({region})" for region, value in limits.items()]
    return lines


def _fault(fault: FaultEntry) -> tuple[str, ...]:
    what = f" {show_seconds(fault.seconds)}" if fault.seconds else ""
    what += f" {fault.code}" if fault.code else ""
    when = [f"after {fault.after}"] if fault.after else []
    when += [f"every {fault.every}"] if fault.every > 1 else []
    when += [f"{fault.probability:.0%}"] if fault.probability < 1 else []
    often = f"{fault.hits} of {fault.times}" if fault.times else f"{fault.hits}"
    where = fault.method or "any", fault.path or "any"
    return fault.fault + what, *where, ", ".join(when) or "each", often


def lock_lines(document: Locks, width: int) -> list[str]:
    """One row a lock, and below it what it is held for and by which run."""
    head = ("SERVICE", "TARGET", "LOCK", "SINCE (UTC)", "BY")
    if not document.locks:
        return ["no locks"]
    table = columns([head, *(_lock(lock) for lock in document.locks)])
    lines = table[:1]
    for row, lock in zip(table[1:], document.locks, strict=True):
        lines += [row, *wrapped_facts([("for", lock.what), ("run", lock.run)], width)]
    return lines


def _lock(lock: LockEntry) -> tuple[str, ...]:
    since = minute(lock.since) if lock.since else ""
    return lock.service, lock.target, lock.state, since, lock.who or ""


def demo_lines(document: Demo) -> list[str]:
    """One row a scene, then what the client saw, then whether every promise was kept."""
    rows = [_scene(scene) for scene in document.scenes]
    took = show_seconds(sum(scene.seconds for scene in document.scenes))
    kept = "every promise was kept" if document.ok else "a promise was NOT kept"
    return [
        *columns(rows),
        "",
        _client(document.client),
        f"{sign('pass' if document.ok else 'fail')}  {kept}, in {took}",
    ]


def _scene(scene: DemoScene) -> tuple[str, ...]:
    well = scene.as_expected
    instead = "" if well else f" instead of {scene.expected_exit_code}"
    exit_code = f"exit {scene.exit_code}{instead}"
    return sign("pass" if well else "fail"), scene.name, exit_code, show_seconds(scene.seconds)


def _client(client: DemoClient) -> str:
    word = sign("pass" if client.requests and not client.failed else "fail")
    gap = show_seconds(client.longest_gap_s)
    return (
        f"{word}  a client asked {client.requests} times, {client.failed} failed, longest gap {gap}"
    )
