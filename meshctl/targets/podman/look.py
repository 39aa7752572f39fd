"""The one batched reading of a host, as a script, and its answer taken apart again. Pure.

One round trip: every section is begun by a mark that the answer cannot guess, and a tool that is
missing, hangs or fails leaves its section empty, not the reading.
"""

from __future__ import annotations

LOOK = r"""
mark=$1
say() { printf '\n%s %s\n' "$mark" "$1"; }
brief() { timeout 10 "$@" 2>/dev/null | head -c 65536; }
say os; sed -n 's/^PRETTY_NAME=//p' /etc/os-release 2>/dev/null
say kernel; uname -r
say boot; cat /proc/sys/kernel/random/boot_id
say uptime; cat /proc/uptime
say memory; cat /proc/meminfo
say disk; brief df -P -k /
say podman; brief podman --version
say systemd; brief systemctl --version
say failed; brief systemctl list-units --state=failed --no-legend --plain
say nvidia; brief nvidia-smi --query-gpu=index,name,memory.total,memory.used --format=csv
say rocm; brief rocm-smi --showmeminfo vram gtt --csv
say drm
for card in /sys/class/drm/card*/device; do
  [ -r "$card/mem_info_vram_total" ] || continue
  for of in vram_total vram_used gtt_total gtt_used; do
    printf '%s %s %s\n' "$card" "$of" "$(cat "$card/mem_info_$of" 2>/dev/null)"
  done
done
say end
"""
"""Takes its mark as `$1`. Ten seconds for a tool: a wedged GPU holds nvidia-smi up for ever."""


def sections(text: str, mark: str) -> dict[str, str]:
    """Each section by its name; where `end` is missing the answer was cut."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        if line.startswith(f"{mark} "):
            current = found.setdefault(line[len(mark) + 1 :], [])
        else:
            current.append(line)
    return {name: "\n".join(lines).strip("\n") for name, lines in found.items()}
