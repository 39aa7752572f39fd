"""What is run on a host, as scripts for `sh -s`: one round trip each. Pure.

Each can be run twice and ends the same. Whatever is replaced is compared with what was read, under
a lock of the host's own: two operators with two states do not know of each other. A file appears
whole or not at all, and is on the disk before anything goes by it.
"""

from __future__ import annotations

from shlex import quote

from meshctl.plan.unit_template import is_quadlet
from meshctl.targets.podman.readings.look import FUNCTIONS, TELL

CHANGED, BUSY, NOT_WRITTEN, NOT_TAKEN = 76, 75, 74, 70
"""Exit codes of the scripts; the names of sysexits(3) are near enough."""

_PLACES = r"""
if [ "$whose" = user ]; then
  quadlets=$HOME/.config/containers/systemd; plain=$HOME/.config/systemd/user
  store=${XDG_DATA_HOME:-$HOME/.local/share}/meshctl
else
  quadlets=/etc/containers/systemd; plain=/etc/systemd/system; store=/var/lib/meshctl
fi
dir() { if [ "$1" = container ]; then echo "$quadlets"; else echo "$plain"; fi; }
sum() { if [ -f "$1" ]; then sha256sum <"$1" | cut -d' ' -f1; else echo none; fi; }
"""

READ = (
    FUNCTIONS
    + _PLACES
    + r"""
say() { printf '\n%s section %s %s\n' "$token" "$1" "$2"; }
for name; do
  mine=
  for ext in container service; do
    file=$(dir $ext)/$name.$ext
    [ -f "$file" ] || continue
    mine=1
    say "standing:$name:$ext" "$(sum "$file")"; cat "$file"
    for drop in "$file".d/*.conf; do
      [ -e "$drop" ] && { say "drop-in:$name:$ext" 0; echo "$drop"; }
    done
  done
  file=$(system show -p FragmentPath --value -- "$name.service")
  [ -n "$mine" ] || [ ! -f "$file" ] || { say "elsewhere:$name:$file" 0; cat "$file"; }
  for file in "$store/services/$name/$name"-*.container "$store/services/$name/$name"-*.service; do
    [ -f "$file" ] || continue
    say "kept:$name:${file##*/}" "$(stat -c %Y "$file")"; cat "$file"
  done
  say "labels:$name" 0; cat "$store/services/$name/labels.json" 2>/dev/null
  say "unit:$name" 0
  system show --no-pager -p Id,LoadState,ActiveState,SubState,NRestarts,ExecMainStatus,Result \
    -p MainPID,InvocationID,ActiveEnterTimestampMonotonic,FragmentPath,DropInPaths \
    -- "$name.service"
  say "journals:$name" 0; journals "u:$name.service"
done
if command -v podman >/dev/null; then
  images=$(bounded podman images --digests --no-trunc --format json 2>/dev/null)
  say images $?; printf '%s\n' "$images"
fi
say end 0
"""
)
"""`token whose longest NAME...`: what stands there, what is kept, how the units do."""

WATCH = FUNCTIONS + 'ask units units "$@"\nask journals journals "$@"\n' + TELL
"""`token whose longest u:UNIT`: how one unit does, and the first cause where it does not."""

_WRITING = (
    _PLACES
    + r"""
set -u
LC_ALL=C; export LC_ALL
: "${XDG_RUNTIME_DIR:=/run/user/$(id -u)}"; export XDG_RUNTIME_DIR
PATH=$PATH:/usr/sbin:/sbin; export PATH
kept=$store/services/$name
umask 022
system() { systemctl "--$whose" "$@"; }
fail() { echo "$2" >&2; exit "$1"; }
folder() { mkdir -p "$1" || fail 74 "$1 cannot be made"; }
put() {
  draft=$(mktemp "${1%/*}/.meshctl.XXXXXX") || fail 74 "${1%/*} cannot be written to"
  if cat >"$draft" && chmod "$2" "$draft" && sync "$draft" && mv -f "$draft" "$1"; then
    sync "${1%/*}"; return 0
  fi
  rm -f "$draft"; fail 74 "$1 cannot be written"
}
enter() {
  folder "$kept"
  exec 9>"$kept/.lock" || fail 74 "$kept cannot be written to"
  flock -w 20 9 || fail 75 "somebody else is at work on $name there"
}
"""
)

START = (
    _WRITING
    + r"""
revision=$1; ext=$2; was_ext=$3; was=$4
enter; folder "$(dir "$ext")"
if [ -f "$kept/$revision.$ext" ]; then
  text=$(cat "$kept/$revision.$ext"; echo .); text=${text%.}
fi
mine=$(printf '%s' "$text" | sha256sum | cut -d' ' -f1)
file=$(dir "$ext")/$name.$ext; old=$(dir "$was_ext")/$name.$was_ext
now=$(sum "$file"); stood=$(sum "$old")
case $stood in "$was"|"$mine") ;; none) [ "$now" = "$mine" ];; *) false;; esac ||
  fail 76 "$old was changed since it was read"
[ "$ext" = "$was_ext" ] || case $now in none|"$mine") ;; *) fail 76 "$file is in the way";; esac
[ -f "$kept/$revision.$ext" ] || printf '%s' "$text" | put "$kept/$revision.$ext" 600
if [ "$now" != "$mine" ]; then
  system stop "$name.service" >/dev/null 2>&1
  printf '%s' "$text" | put "$file" 644
fi
[ "$old" = "$file" ] || rm -f "$old"
system daemon-reload || fail 70 "systemd did not read its units again"
if [ "$ext" = service ]; then
  system enable "$name.service" 2>&1 || fail 70 "systemd does not take $name.service"
fi
load=$(system show -p LoadState --value -- "$name.service")
[ "$load" = loaded ] || fail 70 "systemd has no such unit: $name.service is $load"
system is-active -q "$name.service" || system reset-failed "$name.service" 2>/dev/null
system start --no-block "$name.service" 2>&1 || fail 70 "systemd does not start $name.service"
"""
)
"""`REVISION EXT WAS_EXT SHA`: the kept text of that name if there is one, else `text`."""

STOP = (
    _WRITING
    + r"""
revision=$1; ext=$2; was=$3
enter
file=$(dir "$ext")/$name.$ext; now=$(sum "$file")
[ "$now" = "$was" ] || fail 76 "$file was changed since it was read"
if [ "$now" != none ] && [ ! -f "$kept/$revision.$ext" ]; then
  put "$kept/$revision.$ext" 600 <"$file"
fi
system stop "$name.service" 2>&1 || fail 70 "systemd does not stop $name.service"
"""
)
"""`REVISION EXT SHA`: what stands there is kept, then stopped; its file stays where it is, so that
after a reboot in between it is what comes up."""

REMOVE = (
    _WRITING
    + r"""
revision=$1; ext=$2
enter
file=$(dir "$ext")/$name.$ext; now=$(sum "$file")
[ "$now" = none ] || [ "$now" = "$(sum "$kept/$revision.$ext")" ] ||
  fail 76 "$file was changed since it was written"
system stop "$name.service" >/dev/null 2>&1
[ "$ext" = container ] || system disable "$name.service" >/dev/null 2>&1
rm -f "$file" || fail 74 "$file cannot be removed"
system daemon-reload || fail 70 "systemd did not read its units again"
system reset-failed "$name.service" 2>/dev/null
rm -f "$kept/$revision.$ext"
[ -n "$(ls "$kept")" ] || rm -rf "$kept"
"""
)
"""`REVISION EXT`: the unit of a service that never proved itself."""

REMEMBER = (
    _WRITING
    + r"""
enter
printf '%s' "$text" | put "$kept/labels.json" 600
for one in "$kept/$name"-*; do
  [ -f "$one" ] || continue
  spare=; for left; do [ "${one##*/}" = "$left" ] && spare=1; done
  [ -n "$spare" ] || rm -f "$one"
done
"""
)
"""`FILE...`: the labels are written, and of what is kept only these files stay."""

PROVE = (
    _WRITING
    + r"""
longest=$1; shift
system show -p Version >/dev/null 2>&1 ||
  fail 70 "the $whose's systemd does not answer there (loginctl enable-linger starts a user's)"
work=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d) || fail 74 "there is no room for a draft"
trap 'rm -rf "$work"' EXIT
printf '%s' "$text" >"$work/$name.$ext"
if [ "$ext" = container ]; then
  for generator in /usr/lib/systemd/system-generators/podman-system-generator \
      /usr/libexec/podman/quadlet /usr/lib/podman/quadlet; do
    [ -x "$generator" ] && break
  done
  [ -x "$generator" ] || fail 70 "podman's generator is not there: is podman installed?"
  flag=; [ "$whose" = system ] || flag=--user
  QUADLET_UNIT_DIRS=$work "$generator" --dryrun $flag >"$work/out" 2>"$work/err" ||
    fail 70 "podman's generator refuses the unit: $(tail -n 3 "$work/err")"
  mkdir "$work/unit"; sed '/^---.*---$/d' "$work/out" >"$work/unit/$name.service"
else
  mkdir "$work/unit"; cp "$work/$name.$ext" "$work/unit/$name.service"
fi
if command -v systemd-analyze >/dev/null; then
  flag=; [ "$whose" = system ] || flag=--user
  systemd-analyze --help | grep -q recursive-errors && flag="$flag --recursive-errors=no"
  timeout 60 systemd-analyze verify $flag --man=no "$work/unit/$name.service" >"$work/said" 2>&1 ||
    fail 70 "systemd refuses the unit: $(tail -n 3 "$work/said")"
fi
for secret in $secrets; do
  podman secret inspect "$secret" >/dev/null 2>&1 || fail 66 "podman has no secret $secret"
done
for file in $needed; do
  case $file in %h/*) file=$HOME/${file#%h/};; esac
  [ -e "$file" ] || fail 66 "there is no $file"
done
folder "$store/proved"
while [ $# -gt 0 ]; do
  file=$1; size=$2; sha=$3; shift 3
  [ -f "$file" ] || fail 66 "$file is absent"
  have=$(stat -L -c '%s %Y %i' -- "$file"); [ "${have%% *}" = "$size" ] ||
    fail 65 "$file has ${have%% *} bytes, $size are declared"
  mark=$store/proved/$(printf '%s %s' "$file" "$have" | sha256sum | cut -d' ' -f1)
  if [ "$(cat "$mark" 2>/dev/null)" != "$sha" ]; then
    got=$(timeout "$longest" sha256sum -- "$file" | sed 's/^\\//' | cut -d' ' -f1)
    [ "$got" = "$sha" ] || fail 65 "$file has sha256 ${got:-unknown}, $sha is declared"
    printf '%s' "$sha" | put "$mark" 600
  fi
  printf 'proved %s\n' "$file"
done
"""
)
"""`LONGEST (FILE BYTES SHA256)...`: the unit is read by those who will run it, nothing is missing
that it names, and payloads are what they are declared to be; of each that is proved once."""


SEE = (
    _PLACES
    + r"""
set -f; [ -z "$match" ] || { set +f
  set -- "$@" $(printf '%s' "$match" | grep -lazF -f - /proc/[0-9]*/cmdline 2>/dev/null |
    cut -d/ -f3); }
for pid; do
  [ "$pid" = $$ ] || [ ! -r "/proc/$pid/stat" ] && continue
  start=$(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null | cut -d' ' -f20)
  unit=$(tail -n 1 "/proc/$pid/cgroup" 2>/dev/null | grep -o '[^/]*\.service' | head -n 1)
  said=$(tr '\0\n' '  ' <"/proc/$pid/cmdline" 2>/dev/null | head -c 300)
  kind=-; name=${unit%.service}
  grep -qsF '[X-Meshctl]' "$quadlets/$name.container" "$plain/$name.service" && kind=managed
  printf 'process %s %s %s %s %s\n' "$pid" "${start:-0}" "${unit:--}" "$kind" "$said"
done
echo end
"""
)
"""`PID...`, and with `match` every process whose command line holds that word: when each began,
whose it is, and what. The word comes on no command line, for it would find itself."""

END = r"""
gone() { [ "$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20)" != "$2" ]; }
for one; do
  kind=${one%%:*}; rest=${one#*:}
  case $kind in
    unit) systemctl "--$whose" disable --now "$rest" 2>&1;;
    container) podman rm -f -t 10 "$rest" 2>&1;;
    process) pid=${rest%:*}; start=${rest#*:}
      gone "$pid" "$start" && continue
      kill -TERM "$pid"
      for _ in 1 2 3 4 5 6 7 8 9 10; do gone "$pid" "$start" && break; sleep 1; done
      gone "$pid" "$start" || kill -KILL "$pid";;
  esac
done
"""
"""`process:PID:START`, `unit:NAME`, `container:ID`...: ended, each as long as it is still the one
that was seen. What systemd started is stopped there, for it would start it again."""


def extension(unit: str) -> str:
    """What its file is called: of a quadlet, podman's generator makes a unit."""
    return "container" if is_quadlet(unit) else "service"


def written(body: str, whose: str, name: str, **texts: str) -> str:
    """A script that writes; its texts are in it, for everybody may read command lines."""
    given = {"whose": whose, "name": name, **texts}
    return "".join(f"{key}={quote(value)}\n" for key, value in given.items()) + body
