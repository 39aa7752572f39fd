"""Servers of buckets for tests: a real one of S3's kind, and one that ignores every condition."""

from __future__ import annotations

import contextlib
import http.server
import logging
import threading
from collections.abc import Iterator

from meshctl.outside.objects_s3 import s3_client

KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}


@contextlib.contextmanager
def s3_server(*buckets: str) -> Iterator[str]:
    """The URL of a moto server that holds these buckets."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    for bucket in buckets:
        s3_client(url, "us-east-1", ("test", "test")).create_bucket(Bucket=bucket)
    try:
        yield url
    finally:
        server.stop()


class Careless(http.server.BaseHTTPRequestHandler):
    """S3's GET and PUT, and no look at If-Match and If-None-Match."""

    protocol_version = "HTTP/1.1"
    objects: dict[str, bytes]

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        self.objects[self.path] = data
        self._answer(200, b"", data)

    def do_GET(self) -> None:
        if (data := self.objects.get(self.path)) is None:
            return self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        return self._answer(200, data, data)

    def log_message(self, format: str, *args: object) -> None:
        """Nobody wants to read it."""

    def _answer(self, status: int, body: bytes, tagged: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("ETag", f'"{hash(tagged):x}"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Refusing(Careless):
    """Answers everything with one error."""

    refusal: tuple[int, str]

    def do_GET(self) -> None:
        status, code = self.refusal
        self._answer(status, f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode())


def careless_server() -> contextlib.AbstractContextManager[str]:
    """The URL of an endpoint that takes every condition and ignores it."""
    return _served(type("OneCareless", (Careless,), {"objects": {}}))


def refusing_server(status: int, code: str) -> contextlib.AbstractContextManager[str]:
    """The URL of an endpoint that answers every question with this error."""
    return _served(type("OneRefusing", (Refusing,), {"refusal": (status, code)}))


@contextlib.contextmanager
def _served(handler: type[Careless]) -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
