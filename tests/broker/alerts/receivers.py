"""The other side of notifications: servers of HTTP and SMTP, on real sockets."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Request:
    """What came over HTTP."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """What was received, and how to answer."""

    port: int = 0
    requests: list[Request] = field(default_factory=list)
    mails: list[tuple[list[str], Message]] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)  # statuses of the next answers
    arrived: threading.Event = field(default_factory=threading.Event)
    may_answer: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.may_answer.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"


@contextmanager
def http() -> Iterator[Receiver]:
    """A server that notes each request, and answers as it is told, else 200."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.requests.append(Request(self.path, dict(self.headers), body))
            receiver.arrived.set()
            receiver.may_answer.wait(20)
            status = receiver.answers.pop(0) if receiver.answers else 200
            self.send_response(status)
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            self.end_headers()
            self.wfile.write(b"noted")

        def log_message(self, *_: Any) -> None:
            pass

    with served(ThreadingHTTPServer(("127.0.0.1", 0), Handler), receiver):
        yield receiver


@contextmanager
def smtp() -> Iterator[Receiver]:
    """A server that takes every mail."""
    receiver = Receiver()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.say("220 ready")
            to: list[str] = []
            while line := self.rfile.readline().decode().strip():
                verb = line[:4].upper()
                if verb == "RCPT":
                    to.append(line.partition("<")[2].rstrip(">"))
                if verb == "DATA":
                    self.say("354 go on")
                    text = b"".join(iter(self.rfile.readline, b".\r\n"))
                    receiver.mails.append((to, message_from_bytes(text)))
                self.say("221 bye" if verb == "QUIT" else "250 ok")

        def say(self, words: str) -> None:
            self.wfile.write(f"{words}\r\n".encode())

    with served(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler), receiver):
        yield receiver


@contextmanager
def served(server: socketserver.TCPServer, receiver: Receiver) -> Iterator[None]:
    receiver.port = server.server_address[1]
    server.daemon_threads = True  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=[0.05])
    thread.start()
    try:
        yield
    finally:
        receiver.may_answer.set()
        server.shutdown()
        server.server_close()
        thread.join()
