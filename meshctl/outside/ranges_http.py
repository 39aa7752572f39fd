"""Reads files of web servers and of the hub by range, and keeps its token from every other host."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from meshctl.errors import MeshctlError, Refused, Unreachable, UsageError
from meshctl.outside.gcp import Calls, LostAnswer
from meshctl.outside.http import Deadline, Http, Request, Response, is_loopback
from meshctl.outside.hub_token import hub_token
from meshctl.outside.ranges import Changed, Missing
from meshctl.secret import Secret

HUB = "https://huggingface.co"
TIMEOUT_S = 120.0
MOST_HOPS = 5
_REDIRECTIONS = (301, 302, 303, 307, 308)
_RANGE = re.compile(r"bytes (\d{1,19})-(\d{1,19})/(\d{1,19})", re.ASCII)
_EMPTY = re.compile(r"bytes \*/(\d{1,19})", re.ASCII)
_LOG_IN = "set HF_TOKEN to a token that may read it, once its page says that you may"


class HttpFolder:
    """The folder of a URL; a query, such as a signature, goes with every file of it.

    `shown` never has the query in it, for it may be a secret.
    """

    def __init__(
        self, http: Http, calls: Calls, url: str, shown: str, *, query: str = "",
        token: Secret | None = None,
    ) -> None:  # fmt: skip
        self.http, self.calls, self.url, self.shown = http, calls, url, shown
        self.query, self.token = query, token

    def open(self, name: str) -> HttpFile:
        url = f"{self.url}{quote(name)}" + (f"?{self.query}" if self.query else "")
        return HttpFile(self.http, self.calls, url, self.shown + name, self.token)


class HttpFile:
    """One file of a server. Redirections are followed; what was found once is asked directly.

    A location that a server sends us to is never shown: it may be signed, and so is a secret.
    """

    def __init__(
        self, http: Http, calls: Calls, url: str, shown: str, token: Secret | None
    ) -> None:
        self.http, self.calls, self.url, self.shown, self.token = http, calls, url, shown, token
        self.size = 0
        self.oid = ""
        self._at, self._seen, self._linked = url, ("", -1), -1

    @property
    def version(self) -> str:
        """The digest by which a hub names the bytes, else the ETag, without quotes."""
        return self.oid or _plain(self._seen[0])

    def read(self, start: int, end: int) -> bytes:
        if end <= start:
            return b""
        answer = self._ask(start, end)
        if answer.status in (401, 403) and self._at != self.url:
            self._at = self.url  # what it redirected us to has run out
            answer = self._ask(start, end)
        if answer.status == 416 and (empty := _EMPTY.fullmatch(_header(answer, "content-range"))):
            self._notice(answer, int(empty[1]))
            return b""
        if answer.status == 200 and start == 0 and _is_whole(answer, end):
            self._notice(answer, len(answer.body))
            return answer.body
        if answer.status != 206:
            raise self._refused(answer)
        return self._part(answer, start, end)

    def _ask(self, start: int, end: int) -> Response:
        """The answer, after the redirections on the way to it."""
        url = self._at
        for _ in range(MOST_HOPS):
            answer = self._send(url, start, end)
            if answer.status not in _REDIRECTIONS:
                self._at = url
                return answer
            url = self._next(url, answer)
        raise Refused(f"more than {MOST_HOPS} redirections", place=self.shown, hint=_LOOK)

    def _send(self, url: str, start: int, end: int) -> Response:
        self.calls.add(f"read {self.shown} bytes {start}-{end - 1}")
        headers = {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
        if self.token and _origin(url) == _origin(self.url):
            headers["Authorization"] = f"Bearer {self.token.reveal()}"
        try:
            return self.http.send(Request(url, headers=headers), timeout_s=TIMEOUT_S)
        except Deadline as late:
            message, place = late.message, self.shown
        except Unreachable as error:
            message, place = error.message, self.shown
        # Not chained: what the libraries raised quotes the URL, and that may be signed.
        raise Unreachable(message, place=place, hint=_LOOK)

    def _next(self, url: str, answer: Response) -> str:
        self._linked = _number(_header(answer, "x-linked-size"), self._linked)
        if _origin(url) == _origin(self.url):  # a store has no say in what the hub names
            self.oid = _plain(_header(answer, "x-linked-etag")) or self.oid
        try:
            found = urljoin(url, _header(answer, "location"))
            parts = urlsplit(found)
            sound = parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:
            sound = False
        if not sound or (url.startswith("https:") and parts.scheme != "https"):
            raise Refused("it redirects to where nobody should go", place=self.shown, hint=_LOOK)
        return found

    def _part(self, answer: Response, start: int, end: int) -> bytes:
        match = _RANGE.fullmatch(_header(answer, "content-range"))
        if match is None:
            raise Refused(
                "the server answers a range without saying which", place=self.shown, hint=_LOOK
            )
        first, last, size = int(match[1]), int(match[2]), int(match[3])
        if first != start or last >= end or last + 1 - first != len(answer.body):
            message = f"asked for bytes {start}-{end - 1}, got {match[0]} in {len(answer.body)}"
            raise Unreachable(message, place=self.shown, hint=_LOOK)
        self._notice(answer, size)
        return answer.body

    def _notice(self, answer: Response, size: int) -> None:
        before, known = self._seen
        tag = _header(answer, "etag") or before
        if known >= 0 and (known != size or before not in ("", tag)):
            raise Changed(
                "it changed while it was read", place=self.shown, hint="ask again, from the start"
            )
        if self._linked not in (-1, size):
            message = f"the hub says {self._linked:,} bytes, its store has {size:,}"
            raise Changed(message, place=self.shown, hint="ask again later")
        self._seen, self.size = (tag, size), size

    def _refused(self, answer: Response) -> MeshctlError:
        code, status, place = _header(answer, "x-error-code"), answer.status, self.shown
        if code == "GatedRepo":
            return Refused("the repository is gated", place=place, hint=_LOG_IN)
        if code == "RepoNotFound" or (status == 401 and not self.token):
            message = "there is no such repository, or it is private"
            return Missing(
                message, place=place, hint=f"check its name; for a private one {_LOG_IN}"
            )
        if status in (404, 410):
            what = "commit" if code == "RevisionNotFound" else "file"
            return Missing(f"there is no such {what}", place=place, hint="check its name")
        if status in (401, 403):
            hint = "check the token in HF_TOKEN" if self.token else "it asks for credentials"
            return Refused(f"it may not be read (HTTP {status})", place=place, hint=hint)
        if status == 429 or status >= 500:
            said = f"HTTP {status}{_wait(answer)}"
            wait_s = float(_asked_to_wait_s(answer))
            return LostAnswer(said, place=place, hint="ask again later", retry_after_s=wait_s)
        if status == 200:
            message = "the server knows no ranges: it would send the file whole"
            hint = "name a server that answers ranges, or bring the file here by hand"
            return Refused(message, place=place, hint=hint)
        return Refused(f"HTTP {status} for a range of it", place=place, hint=_LOOK)


_LOOK = "check the URL and the network, then ask again"


def hub_folder(
    repository: str, commit: str, folder: str, http: Http, calls: Calls, environ: Mapping[str, str]
) -> HttpFolder:
    """A folder of one commit of a hub repository, where HF_ENDPOINT says; `folder` may be empty.

    The token comes from where hub_token.py says. Raises UsageError where it would travel in the
    clear.
    """
    endpoint = (environ.get("HF_ENDPOINT") or HUB).rstrip("/")
    token = hub_token(environ)
    if token and not endpoint.startswith("https://") and not is_loopback(endpoint):
        raise UsageError(
            "HF_ENDPOINT is not https, and the token would travel in the clear",
            place="HF_ENDPOINT",
            hint="name an https endpoint, or set HF_HUB_DISABLE_IMPLICIT_TOKEN=1",
        )
    below = f"{folder.strip('/')}/" if folder.strip("/") else ""
    url = f"{endpoint}/{repository}/resolve/{commit}/{quote(below)}"
    return HttpFolder(http, calls, url, f"hub:{repository}@{commit}/{below}", token=token)


def web_folder(url: str, http: Http, calls: Calls) -> tuple[HttpFolder, str]:
    """The folder and the name of a http(s) URL. Raises UsageError for one that is none."""
    from urllib.parse import unquote

    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound or "@" in parts.netloc:
        raise UsageError(
            "this is no https://HOST/PATH, without a user or a password in it",
            place=url.partition("@")[2] or url.partition("?")[0],
            hint="write the URL of one file",
        )
    path, _, name = parts.path.rpartition("/")
    if not name:
        raise UsageError("this names no file", place=parts.netloc, hint="name a file")
    base = urlunsplit((parts.scheme, parts.netloc, f"{path}/", "", ""))
    return HttpFolder(http, calls, base, base, query=parts.query), unquote(name)


def _is_whole(answer: Response, end: int) -> bool:
    """Whether a server that knows no ranges sent all of a small file: nothing is missing then."""
    whole = _number(_header(answer, "content-length"), -1) == len(answer.body)
    return whole and not answer.truncated and len(answer.body) <= end


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


def _header(answer: Response, name: str) -> str:
    return answer.headers.get(name, "").strip()


def _number(text: str, default: int) -> int:
    return int(text) if text.isdecimal() and len(text) < 20 else default


def _plain(tag: str) -> str:
    """An ETag without the mark of a weak one, and without its quotes."""
    return tag.removeprefix("W/").strip('"')


def _wait(answer: Response) -> str:
    """How long a server that is asked too often wants to be left alone."""
    seconds = _asked_to_wait_s(answer)
    return f": asked too often; wait {seconds} s" if answer.status == 429 and seconds else ""


def _asked_to_wait_s(answer: Response) -> int:
    match = re.search(r"t=(\d{1,6})", _header(answer, "ratelimit"))
    return _number(_header(answer, "retry-after"), int(match[1]) if match else 0)
