"""The one question that gates and plans ask of a host, as a script for `sh -s`. Pure.

Every tool runs in the background and into memory (a full disk is one of the things looked for), and
is waited for some ten seconds in all: nvidia-smi that hangs in the kernel cannot even be killed.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from meshctl.spec.model import Frozen

UNIT = r"^[A-Za-z0-9][A-Za-z0-9:_.@\\-]{0,250}\.service$"
PATH = r"^/[^\x00-\x1f\x7f]{0,1000}$"
Path = Annotated[str, Field(pattern=PATH)]


class Asked(Frozen):
    """What of a host is of interest, beside what every host is asked."""

    user: bool = False
    units: tuple[Annotated[str, Field(pattern=UNIT)], ...] = Field(default=(), max_length=100)
    files: tuple[Path, ...] = Field(default=(), max_length=1000, description="of payloads")
    folders: tuple[Path, ...] = Field(default=(), max_length=100, description="whose disk counts")


def arguments(asked: Asked, token: str, longest_s: int = 8) -> tuple[str, ...]:
    """`$1...` of the script: the door quotes them, and no value can pass for an option.
    `longest_s` is for one tool; the whole answer comes some two seconds after it at the latest."""
    words = [f"u:{unit}" for unit in asked.units]
    words += [f"f:{file}" for file in asked.files]
    words += [f"d:{folder}" for folder in asked.folders]
    return (token, "user" if asked.user else "system", str(longest_s), *words)


FUNCTIONS = r"""
token=$1; whose=$2; longest=$3; shift 3
LC_ALL=C; export LC_ALL
: "${XDG_RUNTIME_DIR:=/run/user/$(id -u)}"; export XDG_RUNTIME_DIR
PATH=$PATH:/usr/sbin:/sbin:/opt/rocm/bin; export PATH
dir=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
asked=
bounded() { if command -v "$1" >/dev/null; then timeout -k 1 "$longest" "$@"; else return 127; fi; }
ask() {
  name=$1; shift; asked="$asked $name"
  { { "$@" 2>/dev/null </dev/null; echo $? >"$dir/$name.rc"; } |
    head -c 262144 >"$dir/$name.out"; : >"$dir/$name.done"; } >/dev/null 2>&1 &
}
system() { bounded systemctl "--$whose" "$@"; }
each() {
  want=$1; shift
  for one; do case $one in "$want":*) printf '%s\n' "${one#*:}";; esac; done
}
units() {
  IFS='
'
  set -f; set -- $(each u "$@"); unset IFS; [ $# -gt 0 ] || return 0
  system show --no-pager -p Id,LoadState,ActiveState,SubState,NRestarts,ExecMainStatus,Result \
    -p MainPID,InvocationID,ActiveEnterTimestampMonotonic,FragmentPath,DropInPaths \
    -- "$@"
}
procs() {
  each u "$@" | while IFS= read -r unit; do
    path=$(system show -p ControlGroup --value -- "$unit"); [ -n "$path" ] || continue
    printf 'unit %s\n' "$unit"
    for root in /sys/fs/cgroup /sys/fs/cgroup/systemd; do
      [ -d "$root$path" ] && find "$root$path" -name cgroup.procs -exec cat {} +
    done
  done
  return 0
}
journals() {
  each u "$@" | while IFS= read -r unit; do
    case "$(system show -p ActiveState,NRestarts -- "$unit")" in
      *ActiveState=failed*|*ActiveState=activating*|*NRestarts=[1-9]*)
        printf '%s unit %s\n' "$token" "$unit"
        if [ "$whose" = user ]; then set -- --user; else set --; fi
        bounded journalctl "$@" -u "$unit" -n 300 -o cat --no-pager | head -c 60000; echo;;
    esac
  done
}
disks() {
  { echo /; each d "$@"; } | while IFS= read -r folder; do
    printf 'for %s\n' "$folder"
    while [ ! -e "$folder" ]; do folder=${folder%/*}; folder=${folder:-/}; done
    bounded df -P -k -- "$folder" | tail -n 1
  done
}
files() {
  each f "$@" | while IFS= read -r file; do
    [ -e "$file" ] && stat -L -c '%s %Y %n' -- "$file" || printf 'absent - %s\n' "$file"
  done
}
drm() {
  for card in /sys/class/drm/card*/device; do
    [ -r "$card/mem_info_vram_total" ] || continue
    for of in vram_total vram_used gtt_total gtt_used; do
      printf '%s %s %s\n' "$card" "$of" "$(cat "$card/mem_info_$of")"
    done
  done
}
cdi() {
  for file in /etc/cdi/*.yaml /etc/cdi/*.json /run/cdi/*.yaml /run/cdi/*.json; do
    [ -e "$file" ] || continue
    grep -ohE '"?kind"?: *"?[a-z0-9.-]+/[A-Za-z0-9._-]+|libcuda\.so\.[0-9.]*[0-9]' "$file"
  done | sort -u
}
devices() { for one in /dev/kfd /dev/dri/renderD* /dev/nvidia[0-9]*; do
  [ -e "$one" ] && echo "$one"; done; return 0; }
linger() { bounded loginctl show-user -p Linger --value "$(id -un)" ||
  { [ -d /var/lib/systemd ] || return 1
    if [ -e "/var/lib/systemd/linger/$(id -un)" ]; then echo yes; else echo no; fi; }; }
"""
TELL = r"""tries=0
while [ $tries -lt $((longest * 10 + 20)) ]; do
  late=; for name in $asked; do [ -e "$dir/$name.done" ] || late=1; done
  [ -n "$late" ] || break
  tries=$((tries + 1)); sleep 0.1
done
for name in $asked; do
  rc=late; [ -e "$dir/$name.done" ] && rc=$(cat "$dir/$name.rc" 2>/dev/null || echo late)
  printf '\n%s section %s %s\n' "$token" "$name" "$rc"; cat "$dir/$name.out" 2>/dev/null
done
printf '\n%s section end 0\n' "$token"
"""
LOOK = (
    FUNCTIONS
    + r"""ask os cat /etc/os-release
ask kernel uname -r
ask boot cat /proc/sys/kernel/random/boot_id
ask uptime cat /proc/uptime
ask now date +%s
ask who id -un
ask cgroup stat -f -c %T /sys/fs/cgroup
ask memory cat /proc/meminfo
ask disks disks "$@"
ask files files "$@"
ask systemd bounded systemctl --version
ask linger linger
ask units units "$@"
ask procs procs "$@"
ask journals journals "$@"
ask podman bounded podman --version
ask containers bounded podman ps -a --format json
ask images bounded podman images --digests --no-trunc --format json
ask store bounded podman info --format '{{.Store.GraphRoot}}'
ask ports bounded ss -H -ltnp
ask nvidia bounded nvidia-smi --format=csv \
  --query-gpu=index,uuid,name,memory.total,memory.used,memory.free,driver_version
ask mig bounded nvidia-smi -L
ask apps bounded nvidia-smi --format=csv \
  --query-compute-apps=gpu_uuid,pid,process_name,used_memory
ask rocm bounded rocm-smi --showmeminfo vram gtt --json
ask amdsmi bounded amd-smi metric --mem-usage --json
ask drm drm
ask module cat /sys/module/nvidia/version
ask cdi cdi
ask devices devices
"""
    + TELL
)
