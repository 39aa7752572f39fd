"""Failures that any engine can die of: the loader, the disk, the port, the rights. Pure."""

from __future__ import annotations

from re import compile

from meshctl.engines.engine import Signature

KNOWN = "widely seen wording"
"""The source of lines of libc, Python and shells that have not changed in years."""

COMMON = (
    Signature(
        "library-missing",
        compile(r"error while loading shared libraries: (?P<what>\S+): "),
        "a shared library is not in the image",
        "the image lacks this library: build it beside the engine",
        "glibc's loader",
        phase="load",
    ),
    Signature(
        "wrong-machine",
        compile(r"(?i)exec format error"),
        "the program is for another processor",
        "the engine was built for another processor: use an image for this one",
        "the kernel's ENOEXEC",
        phase="system",
    ),
    Signature(
        "instruction-missing",
        compile(
            r"(?i)\billegal instruction\b|\bSIGILL\b|\b(killed by|terminated on) signal 4\b"
            r"|status=4/ILL|\bexited with code 132\b|\bcalled exit\(132\)"
        ),
        "the engine uses instructions that this processor does not have",
        "take a build for older processors, or a machine of the kind it was built on; `lscpu` names"
        " what this one has",
        "the kernel's SIGILL; a llama.cpp with AVX-VNNI on an AMD EPYC",
        phase="system",
    ),
    Signature(
        "program-missing",
        compile(
            r"failed to execute .*: No such file or directory|command not found"
            r"|executable file .* not found in \$PATH|\bthere is no program \S+"
        ),
        "the program to start is not in the image",
        "the engine's program is not in the image: check MESH_ENGINE_DIR and the command",
        "setpriv, sh, podman, crun and the mesh; exit code 127",
        phase="system",
    ),
    Signature(
        "module-missing",
        compile(r"ModuleNotFoundError: No module named (?P<what>\S+)"),
        "a Python module is not in the image",
        "build the module into the image, or take one that has it",
        "Python",
        phase="load",
    ),
    Signature(
        "flag-unknown",
        compile(
            r"(?i)(?<!CUDA error: )(?<!HIP error: )"
            r"\b(unknown|unrecognized|invalid|unexpected|missing)"
            r" (argument|option|flag|variable)s?\b"
            r"|error while handling argument|\berror: argument |\bno command was given\b"
            r"|\bthe following arguments are required\b"
            r"|(?-i:\bmesh: MESH_[A-Z_]+: )"
        ),
        "an argument or a variable is wrong, or this build does not know it",
        "correct args or env in the fleet file, then deploy again",
        "argparse, llama.cpp b11434 and the mesh",
        phase="load",
        when=("start", "load", "kv", "graphs", "warmup"),
    ),
    Signature(
        "shm-too-small",
        compile(
            r"Error while creating shared memory segment /dev/shm"
            r"|posix_fallocate failed ?: No space left on device"
            r"|/dev/shm\S* .*No space left on device"
        ),
        "/dev/shm is too small: a container gets 64 MB unless told otherwise",
        "give it more: ShmSize=16g in the quadlet, --shm-size or --ipc=host",
        "NCCL; nccl#290, vllm#1710",
        phase="system",
    ),
    Signature(
        "image-disk-full",
        compile(r"writing blob.*[Nn]o space left on device"),
        "the disk that holds images is full",
        "free some: `podman system df`, then `podman image prune`; or move TMPDIR",
        "podman",
        phase="system",
    ),
    Signature(
        "disk-full",
        compile(r"No space left on device"),
        "a disk is full",
        "free some disk, or give shared memory more room",
        "the kernel's ENOSPC",
        phase="system",
    ),
    Signature(
        "port-in-use",
        compile(r"(?i)address already in use|couldn't bind HTTP server socket"),
        "another process holds the port",
        "another process holds the port: `ss -ltnp` names it",
        "the kernel's EADDRINUSE; vLLM 0.33, llama.cpp b11434, podman",
        phase="ready",
    ),
    Signature(
        "kfd-denied",
        compile(r"Unable to open /dev/kfd .*Permission denied"),
        "the container may not open the AMD device",
        "let the container keep the host's groups: --group-add keep-groups",
        "ROCm; ROCm-docker#116",
        phase="system",
    ),
    Signature(
        "kfd-missing",
        compile(r"Unable to open /dev/kfd .*No such file or directory"),
        "the container was not given the AMD device",
        "AddDevice=/dev/kfd and AddDevice=/dev/dri in the quadlet; on the host: `ls -l /dev/kfd`",
        "ROCm; ROCm-docker#116",
        phase="system",
    ),
    Signature(
        "too-many-files",
        compile(r"Too many open files|Found ulimit of \d+ and failed to automatically increase"),
        "the process may open no more files",
        "raise LimitNOFILE",
        "the kernel's EMFILE; vLLM 0.33",
        phase="system",
    ),
    Signature(
        "asset-missing",
        compile(r"(?i)\bmissing asset\b|\bthe model \S+ needs \d+ bytes there"),
        "a file that the start needs is not where it is looked for",
        "compare the path with the one you meant: a fallback is used when an env file is missing"
        " or cannot be read; else fetch the payload again",
        "a real fleet's start scripts; the mesh",
        phase="load",
    ),
    Signature(
        "path-missing",
        compile(r"FileNotFoundError: \[Errno 2\] No such file or directory: (?P<what>.+)"),
        "a file or folder is not there",
        "check the mount and the path that the line names",
        "Python",
    ),
    Signature(
        "permission-denied",
        compile(
            r"PermissionError: \[Errno 13\]|Permission denied \(os error 13\)"
            r"|(?i:permission denied)(?!.*(?:publickey|docker://))"
        ),
        "the process may not read, write or run what it was told to",
        "check owner, mode and SELinux label (:z) of the path, and that args name the command"
        " the image expects",
        "the kernel's EACCES; a real fleet where args lacked the command (os error 13)",
    ),
    Signature(
        "segmentation-fault",
        compile(r"(?i)segmentation fault|Segfault encountered|\bSIGSEGV\b"),
        "native code of the engine crashed",
        "try the image before this one; on the host look for Xid lines: `journalctl -k`",
        KNOWN,
        follows=True,
    ),
)
