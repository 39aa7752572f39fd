"""The little of curl that the README types, for machines that have no curl: -s -f -H -d URL.

Exits 22 for a status of 400 and above with -f, as curl does, and prints the body.
"""

from __future__ import annotations

import argparse
import sys
import urllib.error
import urllib.request


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("-s", action="store_true")
    parser.add_argument("-f", action="store_true")
    parser.add_argument("-H", action="append", default=[])
    parser.add_argument("-d")
    parser.add_argument("url")
    asked = parser.parse_args()
    headers = dict(line.split(": ", 1) for line in asked.H)
    request = urllib.request.Request(asked.url, asked.d and asked.d.encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            sys.stdout.write(answer.read().decode())
        return 0
    except urllib.error.HTTPError as error:
        if asked.f:
            return 22
        sys.stdout.write(error.read().decode())
        return 0


if __name__ == "__main__":
    sys.exit(main())
