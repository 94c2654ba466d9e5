"""A RabbitMQ node of the tests' own, beside whatever else runs on the machine.

It has its own name, ports, database, cookie and port mapper, so that nothing is shared.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.broker.bridges.servers import HOST, STOP_S, Server, answers, free_ports
from tests.console.until import until

HOMES = (Path("/usr/lib/rabbitmq/bin"), Path("/opt/rabbitmq/sbin"))
USER, PASSWORD = "bridge", "right: and\\proper"
LISTENERS = {  # of plugins, in their settings
    "rabbitmq_stomp": "stomp.listeners.tcp.1",
    "rabbitmq_management": "management.tcp.port",
}
QUIET = "+sbwt none +sbwtdcpu none +sbwtdio none"  # its threads do not spin
SETTINGS = """
listeners.tcp.1 = {host}:{port}
default_user = {user}
default_pass = {password}
log.console = true
log.console.level = warning
log.file = false
"""


def home() -> Path | None:
    """Where its programs are; the one in the path of a Debian changes the user."""
    found = next((one for one in HOMES if (one / "rabbitmq-server").exists()), None)
    if found is None and (path := shutil.which("rabbitmq-server")):
        return Path(path).resolve().parent
    return found


def why_not() -> str:
    """Why none can be started here; empty where it can."""
    if home() is None:
        return "RabbitMQ is not installed (Debian's package rabbitmq-server)"
    if mapper() is None:
        return "Erlang's epmd is not installed, and RabbitMQ needs it"
    return ""


def mapper() -> str | None:
    return shutil.which("epmd")


class Node(Server):
    """A node, and the ports of its plugins."""

    def __init__(self, folder: Path, plugins: Sequence[str]) -> None:
        where = home()
        assert where is not None, why_not()
        with_ports = [name for name in plugins if name in LISTENERS]
        self.port, self.mapper_port, dist, *others = free_ports(3 + len(with_ports))
        self.ports_of = dict(zip(with_ports, others, strict=True))
        said = SETTINGS.format(host=HOST, port=self.port, user=USER, password=PASSWORD)
        for name, port in self.ports_of.items():
            at = f"{HOST}:{port}" if name == "rabbitmq_stomp" else port
            said += f"{LISTENERS[name]} = {at}\n"
        (folder / "rabbitmq.conf").write_text(said)
        (folder / "enabled_plugins").write_text(f"[{','.join(plugins)}].\n")
        env = {
            "HOME": str(folder),  # of the cookie
            "ERL_EPMD_PORT": str(self.mapper_port),
            "ERL_EPMD_ADDRESS": HOST,
            "RABBITMQ_NODENAME": f"test-{self.port}@localhost",
            "RABBITMQ_DIST_PORT": str(dist),
            "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": QUIET,
        }
        super().__init__(
            folder,
            [str(where / "rabbitmq-server")],
            env,
            [self.port, *self.ports_of.values()],
        )

    def end_mapper(self) -> None:
        """The port mapper, which Erlang starts by itself and never ends.

        It refuses to end until it has noticed that its node is gone.
        """
        until(self.is_mapper_gone, STOP_S)

    def is_mapper_gone(self) -> bool:
        if not answers(self.mapper_port):
            return True
        found = mapper()
        assert found is not None
        subprocess.run(
            [found, "-port", str(self.mapper_port), "-kill"],
            env=self.env,
            capture_output=True,
            check=False,  # it may refuse, or be gone
            timeout=STOP_S,
        )
        return False


@contextmanager
def rabbitmq_node(plugins: Sequence[str] = ()) -> Iterator[Node]:
    """One that runs until the end, with nothing on it."""
    with TemporaryDirectory(prefix="rabbitmq-") as folder:
        node = Node(Path(folder), plugins)
        try:
            node.start()
            yield node
        finally:
            node.kill()
            node.end_mapper()
