"""Transformers that do what they should not, and some that do what they should."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from django.db import connections

from broker.bridges.providers.interface import Destination
from broker.bridges.transformers.registry import (
    BranchTo,
    Context,
    NoTransfer,
    Outcome,
    transforms,
)
from broker.queueing.store import NewMessage


@transforms("test-echo")
def echo(message: NewMessage, _: Context) -> NewMessage:
    return message


@transforms("test-shout")
def shout(message: NewMessage, context: Context) -> NewMessage:
    """The body in capitals.

    It says for whom in the properties, and changes all it gets on the way.
    """
    properties = cast("dict[str, Any]", message.properties)
    properties["for"] = f"{context.bridge}/{context.link}"
    properties["way"] = [context.source_provider, context.target_provider]
    properties["asked"] = dict(context.properties)
    properties.get("list", []).append("more")
    message.body = message.body.upper()
    return message


@transforms("test-refuse")
def refuse(_message: NewMessage, _: Context) -> NoTransfer:
    return NoTransfer()


@transforms("test-branch")
def branch(message: NewMessage, context: Context) -> BranchTo:
    name = context.properties.get("to", "elsewhere")
    changed = replace(message, subject="branched")
    return BranchTo(Destination(name, is_topic=True), changed)


@transforms("test-raise")
def fail(_message: NewMessage, context: Context) -> Outcome:
    raise LookupError(context.properties.get("text", "no such customer 17"))


@transforms("test-exit")
def leave(_message: NewMessage, _: Context) -> Outcome:
    sys.exit("I leave")


@transforms("test-nothing")
def nothing(_message: NewMessage, _: Context) -> Outcome:
    return None  # type: ignore[return-value]


@transforms("test-lock")
def lock(message: NewMessage, _: Context) -> Outcome:
    return replace(message, properties={"a": threading.Lock()})


@transforms("test-sleep")
def sleep(_message: NewMessage, context: Context) -> Outcome:
    begun(context)
    time.sleep(3600)
    raise AssertionError


@transforms("test-spin")
def spin(_message: NewMessage, _: Context) -> Outcome:
    while True:
        pass


@transforms("test-regex")
def backtrack(_message: NewMessage, context: Context) -> Outcome:
    """It runs no Python for years, and forks before, so that two do."""
    os.fork()
    begun(context)
    re.match("(a+)+$", "a" * 60 + "b")
    raise AssertionError


def begun(context: Context) -> None:
    """Leave a file of the name of this process in the folder, where one is given."""
    if "folder" in context.properties:
        (Path(context.properties["folder"]) / str(os.getpid())).touch()


@transforms("test-stop")
def stop(message: NewMessage, _: Context) -> Outcome:
    os.kill(os.getpid(), signal.SIGSTOP)
    return message


@transforms("test-die")
def die(_message: NewMessage, _: Context) -> Outcome:
    os._exit(3)


@transforms("test-crash")
def crash(_message: NewMessage, _: Context) -> Outcome:
    os.kill(os.getpid(), signal.SIGSEGV)
    raise AssertionError


@transforms("test-close")
def close(message: NewMessage, _: Context) -> Outcome:
    os.closerange(3, 1024)
    return message


@transforms("test-babble")
def babble(message: NewMessage, _: Context) -> Outcome:
    """Write into everything that is open as if it were an answer."""
    for number in range(3, 64):
        try:
            os.write(number, b"\0\0\0\2\0\0\0\0{}")
        except OSError:
            continue
    return message


@transforms("test-fork")
def fork(message: NewMessage, _: Context) -> Outcome:
    """Both return."""
    message.subject = "parent" if os.fork() else "child"
    return message


@transforms("test-print")
def shouting(message: NewMessage, _: Context) -> Outcome:
    for _number in range(2000):
        print("x" * 1000)
        print("y" * 1000, file=sys.stderr)
    message.body = sys.stdin.buffer.read()
    return message


@transforms("test-look")
def look(message: NewMessage, _: Context) -> Outcome:
    """What this process has of its parent."""
    files = Path("/proc/self/fd")
    targets = [os.readlink(one) for one in files.iterdir() if one.is_symlink()]
    return replace(
        message,
        properties={
            "connections": sum(one.connection is not None for one in connections.all()),
            "sockets": sum(one.startswith("socket:") for one in targets),
            "pid": os.getpid(),
            "is_leader": os.getpgrp() == os.getpid() == os.getsid(0),
        },
    )
