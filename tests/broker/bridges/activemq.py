"""An ActiveMQ of the tests' own: Debian's package, which needs Java 17 or later.

It has two users: ``bridge`` may use what begins with ``t.`` and nothing else, ``admin``
everything. Its map messages need XStream, which Debian has in a package beside it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from broker.bridges.providers.interface import Factory
from tests.broker.bridges.certificates import make_certificates
from tests.broker.bridges.servers import HOST, Server, free_ports

HOME = Path("/usr/share/activemq")
JAR = HOME / "bin" / "activemq.jar"
FOR_MAPS = (Path("/usr/share/java/xstream.jar"), Path("/usr/share/java/jettison.jar"))
USER, PASSWORD = "bridge", "right: and\\proper"
ADMIN, ADMIN_PASSWORD = "admin", "mine"
KEYS_PASSWORD = "of-the-keys"
OPENED = ("java.lang", "java.util", "java.net")
CONFIGURATION = """<beans xmlns="http://www.springframework.org/schema/beans"
    xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
    xsi:schemaLocation="http://www.springframework.org/schema/beans
      http://www.springframework.org/schema/beans/spring-beans-2.0.xsd
      http://activemq.apache.org/schema/core
      http://activemq.apache.org/schema/core/activemq-core.xsd">
  <broker xmlns="http://activemq.apache.org/schema/core" brokerName="peer"
      useJmx="false" schedulerSupport="false" dataDirectory="{folder}/data">
    <plugins>
      <simpleAuthenticationPlugin><users>
        <authenticationUser username="{user}" password="{password}" groups="bridges"/>
        <authenticationUser username="{admin}" password="{admin_password}"
          groups="bridges,admins"/>
      </users></simpleAuthenticationPlugin>
      <authorizationPlugin><map><authorizationMap><authorizationEntries>
        <authorizationEntry queue="&gt;" read="admins" write="admins" admin="admins"/>
        <authorizationEntry queue="t.&gt;" read="bridges" write="bridges"
          admin="bridges"/>
        <authorizationEntry topic="&gt;" read="bridges" write="bridges"
          admin="bridges"/>
      </authorizationEntries></authorizationMap></map></authorizationPlugin>
    </plugins>
    <destinationPolicy><policyMap><policyEntries>
      <policyEntry queue="&gt;" strictOrderDispatch="true"/>
    </policyEntries></policyMap></destinationPolicy>
    <persistenceAdapter>
      <kahaDB directory="{folder}/data/kahadb" journalMaxFileLength="8mb"/>
    </persistenceAdapter>
    <sslContext>
      <sslContext keyStore="file:{folder}/keys.p12" keyStorePassword="{keys_password}"
        keyStoreType="PKCS12"/>
    </sslContext>
    <systemUsage><systemUsage>
      <memoryUsage><memoryUsage limit="64 mb"/></memoryUsage>
      <storeUsage><storeUsage limit="256 mb"/></storeUsage>
      <tempUsage><tempUsage limit="64 mb"/></tempUsage>
    </systemUsage></systemUsage>
    <transportConnectors>
      <transportConnector uri="stomp://{host}:{port}"/>
      <transportConnector uri="stomp+ssl://{host}:{tls_port}"/>
    </transportConnectors>
  </broker>
</beans>
"""


def why_not() -> str:
    """Why none can be started here; empty where it can."""
    if not JAR.exists():
        return "ActiveMQ is not installed (Debian's package activemq)"
    if shutil.which("java") is None:
        return "Java is not installed, and ActiveMQ needs it"
    missing = [path.name for path in FOR_MAPS if not path.exists()]
    return f"ActiveMQ lacks {missing[0]} for map messages" if missing else ""


class ActiveMQ(Server):
    """A broker that speaks STOMP."""

    def __init__(self, folder: Path) -> None:
        self.port, self.tls_port = free_ports(2)
        self.ca_file = make_certificates(folder, HOST, KEYS_PASSWORD)
        extensions = folder / "lib" / "optional"
        extensions.mkdir(parents=True)
        for jar in FOR_MAPS:
            (extensions / jar.name).symlink_to(jar)
        (folder / "activemq.xml").write_text(
            CONFIGURATION.format(
                folder=folder,
                user=USER,
                password=PASSWORD,
                admin=ADMIN,
                admin_password=ADMIN_PASSWORD,
                keys_password=KEYS_PASSWORD,
                host=HOST,
                port=self.port,
                tls_port=self.tls_port,
            )
        )
        super().__init__(folder, command(folder), {}, (self.port, self.tls_port))

    def factory(self, *, tls: bool = False, **changed: object) -> Factory:
        """How it is reached; what is changed are fields of a factory."""
        said = {
            "name": "activemq",
            "provider": "stomp",
            "url": f"stomp://{HOST}:{self.port}",
            "username": USER,
            "password": PASSWORD,
        }
        if tls:
            said["url"] = f"stomps://{HOST}:{self.tls_port}"
        return Factory(**{**said, **changed})  # type: ignore[arg-type]


def command(folder: Path) -> list[str]:
    return [
        "java",
        *("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
        "-Djava.awt.headless=true",
        f"-Djava.io.tmpdir={folder}",
        *(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in OPENED),
        f"-Dactivemq.home={HOME}",
        f"-Dactivemq.base={folder}",
        f"-Dactivemq.conf={folder}",
        f"-Dactivemq.data={folder}/data",
        f"-Dactivemq.classpath={folder}",
        *("-jar", str(JAR), "start", f"xbean:file:{folder}/activemq.xml"),
    ]


@contextmanager
def activemq() -> Iterator[ActiveMQ]:
    """One that runs until the end, with nothing on it."""
    with TemporaryDirectory(prefix="activemq-") as folder:
        server = ActiveMQ(Path(folder))
        try:
            server.start()
            yield server
        finally:
            server.kill()
