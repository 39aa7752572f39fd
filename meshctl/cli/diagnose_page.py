"""The page of docs/ that lists every failure that is known: made from the catalogue."""

from __future__ import annotations

from collections.abc import Iterator

from meshctl.engines.catalogue import CATALOGUE
from meshctl.engines.engine import Signature
from meshctl.engines.signatures.common import COMMON
from meshctl.engines.signatures.container import CONTAINER
from meshctl.engines.signatures.hub import HUB
from meshctl.engines.signatures.llama_server import LLAMA
from meshctl.engines.signatures.system import SYSTEM
from meshctl.engines.signatures.torch import TORCH
from meshctl.engines.signatures.vllm import VLLM_FAILURES

INTRODUCTION = """\
```text
meshctl diagnose chat                              a service, every revision of the last hour
meshctl diagnose chat --candidate                  the revision that did not get ready
meshctl diagnose --log boot.log                    a file; no fleet file is needed
journalctl -u chat -b | meshctl diagnose --log -   whatever can be piped
```

It names the first cause in a log, not the line that wraps it, with its phase, the line, what else
shows it, and what to do. The exit code is 0, whether anything is known or not; `-o json` prints
`findings/v1`. Where nothing is known nothing is guessed: the first complaint and the last distinct
lines are shown.

**What it reads.** The output of an engine; of `podman logs`, `docker logs` (also the JSON files),
Compose and Kubernetes; of `journalctl` (`-o short`, `short-iso`, `json`) and `dmesg`; of a mesh in
its three forms; of `meshctl logs`, also as JSON; entries of Cloud Logging, one a line, or an export
of `gcloud logging read --format json` up to 64 MiB, which is put into the order of its times. One
in another; colours and progress bars are taken out. Any size: it is read once, in bounded memory.
Of a line the first 4,096 characters are looked at.

**The order.** Causes before what follows from them (below: *follows*), warnings last, and behind
what still holds whatever a later start of the same model overcame; so ordered, the first line wins.
The same failure named again is one finding.

**The phase** comes from the milestones of vLLM and llama-server, where the line does not tell it:
`load` the weights, `kv` the cache and the pass that measures its room, `graphs`, `warmup`, `ready`
(getting the port, answering the probe), `runtime` once it served, `exit`, and `system` for the host
and the container. It is null where the log begins too late to say. Out of memory has an id for
each phase.

**Secrets.** Keys of known forms (hub, model APIs, code hosts, clouds, JWT, `Bearer`), values of
names like `token=` and `password:`, and passwords in URLs are shown as `***`. That is a net, not a
promise: look before you publish a log.

**Adding one**: a `Signature` in a file of `meshctl/engines/signatures/`, its line in
`tests/cases/findings/lines.yaml`, `make reference`. The mesh, `deploy`, `logs` and `diagnose` all
read the same list.
"""
_WHO: tuple[tuple[str, tuple[Signature, ...]], ...] = (
    ("vLLM", VLLM_FAILURES),
    ("llama-server", LLAMA),
    ("PyTorch, CUDA, ROCm, NCCL", TORCH),
    ("The model hub", HUB),
    ("Any program", COMMON),
    ("Containers and Cloud Run", CONTAINER),
    ("systemd and the kernel", SYSTEM),
)


def diagnose_page(made: str) -> str:
    """Every id by who says it; `made` says where the page comes from."""
    assert sum(len(own) for _, own in _WHO) == len(CATALOGUE)
    lines = ["# Finding the first cause in a log", "", made, "", INTRODUCTION]
    for who, own in _WHO:
        lines += [f"## {who}", "", "| id | phase | cause | what to do | known from |"]
        lines += ["|---|---|---|---|---|", *_rows(own), ""]
    return "\n".join(lines).rstrip() + "\n"


def _rows(own: tuple[Signature, ...]) -> Iterator[str]:
    for one in own:
        marks = ["follows"] if one.follows else ["warning"] if one.severity == "warning" else []
        phase = ", ".join([one.phase or "as the log", *marks])
        cells = (f"`{one.id}`", phase, one.cause, one.remedy, one.source)
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
