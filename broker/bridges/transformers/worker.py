"""The program of a worker process; ``workers`` starts it.

    python -m broker.bridges.transformers.worker CHANNEL LIFELINE

Both are file descriptors: a socket for frames, and the pipe of ``lifeline``.
"""

from __future__ import annotations

import socket
import sys

import django

from broker.bridges.transformers import lifeline
from broker.bridges.transformers.failing import described
from broker.bridges.transformers.frames import framed, send


def main(channel: socket.socket) -> None:
    """Report that it is ready, or the error; then answer requests."""
    try:
        django.setup()
        from broker.bridges.transformers import (  # noqa: PLC0415 -- models need Django
            registry,
            serving,
        )

        registry.discover()
    except BaseException as error:  # noqa: BLE001 -- from foreign code
        send(channel, framed({"is_ready": False, "why": described(error)}))
        return
    send(channel, framed({"is_ready": True}))
    serving.serve(channel)


if __name__ == "__main__":
    lifeline.hold(int(sys.argv[2]))
    main(socket.socket(fileno=int(sys.argv[1])))
