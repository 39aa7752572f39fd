"""Failures in the words of systemd and the kernel, and how a unit is seen to end. Pure."""

from __future__ import annotations

from re import compile

from meshctl.engines.engine import Milestone, Signature

_SYSTEMD = "systemd"
_UNIT = "systemd.exec's exit codes"
_GENERATOR = "podman's generator"
_KERNEL = "the kernel's log; wording not confirmed by a log of ours"
_ENDED_WELL = r"Deactivated successfully|code=exited, status=0/|\bexit(ed with)? code 0\b"

SYSTEM_MILESTONES = (
    Milestone(
        "stopping",
        compile(
            r"^Stopping \S.*\.\.\.$|\b[Rr]eceived (signal )?SIG(TERM|INT)\b"
            r"|status=15/TERM|Shutting down user disabled instance"
        ),
    ),
)

SYSTEM = (
    Signature(
        "oom-killer",
        compile(
            r"killed by the OOM killer|Result=oom-kill|result 'oom-kill'"
            r"|(?i:out of memory): Killed process|\boom-kill:constraint=|\"?OOMKilled\"?[:=] ?true"
        ),
        "the host ran out of memory (not the card), and the kernel ended a process",
        "see whose memory it is: `journalctl -k -g oom`; then raise MemoryMax or pin less",
        "systemd, the kernel",
        phase="system",
    ),
    Signature(
        "start-limit",
        compile(r"Start request repeated too quickly|start-limit-hit"),
        "systemd gave up after too many starts in a short time",
        "fix the cause, then `systemctl reset-failed UNIT`; StartLimitIntervalSec=0 in [Unit]",
        _SYSTEMD,
        phase="system",
        follows=True,
    ),
    Signature(
        "start-timeout",
        compile(r"start operation timed out\. Terminating|Result=timeout|result 'timeout'"),
        "systemd did not wait long enough for the start",
        "raise TimeoutStartSec in [Service]: pull and load count, too",
        _SYSTEMD,
        phase="system",
    ),
    Signature(
        "unit-program",
        compile(r"status=203/EXEC"),
        "systemd cannot run the unit's program",
        "check the path in ExecStart, its mode and its `#!` line",
        _UNIT,
        phase="system",
    ),
    Signature(
        "unit-folder",
        compile(r"status=200/CHDIR"),
        "the unit's working folder is not there",
        "make it, or correct WorkingDirectory",
        _UNIT,
        phase="system",
    ),
    Signature(
        "unit-user",
        compile(r"status=217/USER"),
        "the unit's user is not there",
        "make it, or correct User",
        _UNIT,
        phase="system",
    ),
    Signature(
        "unit-namespace",
        compile(r"status=226/NAMESPACE"),
        "a path that the unit mounts or hides is not there",
        "check ReadWritePaths, BindPaths and the like",
        _UNIT,
        phase="system",
    ),
    Signature(
        "unit-credentials",
        compile(r"status=243/CREDENTIALS"),
        "a credential of the unit cannot be read",
        "check LoadCredential and the file it names",
        _UNIT,
        phase="system",
    ),
    Signature(
        "quadlet-refused",
        compile(r"unsupported key '[^']+' in group|quadlet-generator.*(?i:error)"),
        "this podman does not know a key of the quadlet, so there is no unit",
        "`/usr/lib/systemd/system-generators/podman-system-generator --dryrun` says which",
        _GENERATOR,
        phase="system",
    ),
    Signature(
        "unit-missing",
        compile(r"Unit \S+\.service not found"),
        "there is no such unit: the generator may have refused its quadlet",
        "`/usr/lib/systemd/system-generators/podman-system-generator --dryrun` says why",
        _GENERATOR,
        phase="system",
    ),
    Signature(
        "label-denied",
        compile(r"avc: +denied .*container"),
        "SELinux keeps the container from a file or a device",
        "mount with :z or :Z; for a GPU: `setsebool -P container_use_devices=1`",
        _KERNEL,
        phase="system",
    ),
    Signature(
        "gpu-lost",
        compile(
            r"NVRM: Xid .*: (48|74|79|94|95|119|120|140), |GPU has fallen off the bus"
            r"|amdgpu.*ring \S+ timeout|amdgpu.*GPU reset begin"
        ),
        "the card or its link failed",
        "stop trying: drain the host, reboot it, and check the card",
        _KERNEL,
        phase="system",
    ),
    Signature(
        "gpu-fault",
        compile(r"NVRM: Xid .*: (13|31|43|45), "),
        "a program did something wrong on the card, or was ended on it",
        "try the image before this one",
        _KERNEL,
        phase="system",
        follows=True,
    ),
    Signature(
        "exit-zero-after-ready",
        # Cloud Run's own `exit(0)` is not in it: that is also how an idle instance ends.
        compile(_ENDED_WELL),
        "it served, then ended with exit code 0, and the log shows nobody who asked it to",
        "Restart=always, for on-failure never fires; look further up for what died in it",
        "a real log; vllm#48966",
        phase="exit",
        when=("ready",),
        follows=True,
    ),
    Signature(
        "exit-zero-before-ready",
        compile(_ENDED_WELL + r"|Container called exit\(0\)"),
        "it ended with exit code 0 before it served",
        "Restart=always makes the loop visible; look further up for why",
        "a real log",
        phase="exit",
        when=("load", "kv", "graphs", "warmup"),
        follows=True,
    ),
    Signature(
        "killed",
        compile(r"code=killed, status=9/KILL|Container terminated on signal 9"),
        "somebody or the kernel killed it",
        "was it memory? `journalctl -k -g oom`; was it a timeout? `systemctl status UNIT`",
        _SYSTEMD,
        phase="exit",
        follows=True,
    ),
    Signature(
        "dumped-core",
        compile(r"code=dumped, status=(?!4/ILL)\d+/\w+"),
        "it crashed and left a core",
        "`coredumpctl info` names the place; try the image before this one",
        _SYSTEMD,
        phase="exit",
        follows=True,
    ),
)
