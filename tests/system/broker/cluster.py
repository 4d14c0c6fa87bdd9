"""A real Apache Kafka of one node or three: fetched once by Maven, started in a folder on free loopback ports.

python -m tests.system.broker.cluster [--port 9092] [--topic NAME]   starts one to try things out, until Ctrl-C
"""

from __future__ import annotations

import argparse
import base64
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

from tests.waiting import PATIENCE, wait_for
from vmfstream.folders import cache_folder

VERSION = "4.3.1"
USER, PASSWORD = "reader", "open sesame 7319"
MISSING = [name for name in ("java", "mvn", "keytool") if shutil.which(name) is None]

_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>vmfstream</groupId><artifactId>broker</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{VERSION}</version>
    </dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
"""
_JVM = ["-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]


def jars() -> Path:
    """Return the folder with Kafka and what it needs, fetched by Maven if it is not there."""
    folder = cache_folder() / f"kafka-{VERSION}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as work:
            (Path(work) / "pom.xml").write_text(_POM)
            command = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"]
            subprocess.run([*command, "-DincludeScope=runtime"], cwd=work, check=True, stdin=subprocess.DEVNULL)
            # a process that was quicker has put the same files there
            if not folder.is_dir():
                (Path(work) / "lib").rename(folder)
    return folder


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()


class Broker:
    """One node that is broker and controller, with four doors.

    ``address`` is open to everybody as an administrator; ``secure`` asks for TLS (certificate: ``certificate``) and for
    the password of ``USER``, who has no rights but those given; ``behind`` is a door that tells clients to come to
    ``proxied``, where somebody else may listen. Of several nodes it is number ``node`` with the ports of the
    controllers of all ``voters``, and the identity of their ``cluster``.
    """

    def __init__(
        self, folder: Path, port: int | None = None, *, node: int = 1, voters: tuple[int, ...] = (), cluster: str = ""
    ) -> None:
        self.folder, self.node = folder, node
        ports = free_ports(5)
        self.port = port or ports[0]
        _, controller, secure, behind, proxied = ports
        self.voters = voters or (controller,)
        self.address, self.secure = f"127.0.0.1:{self.port}", f"127.0.0.1:{secure}"
        self.behind, self.proxied = ("127.0.0.1", behind), ("127.0.0.1", proxied)
        self.certificate = folder / "broker.pem"
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        self._make_certificate()
        (folder / "server.properties").write_text(self._properties(secure, behind, proxied))
        cluster = cluster or identity()
        # in one word: it may begin with a hyphen
        self._java("kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", "server.properties").wait()

    @property
    def pid(self) -> int:
        """Number of its process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start, or start again after a kill, and wait until it answers."""
        self.begin()
        self.wait()

    def begin(self) -> None:
        """Start without waiting."""
        self._process = self._java("kafka.Kafka", "server.properties")

    def wait(self) -> None:
        """Wait until it answers."""
        said = self.folder / "out.log"
        try:
            wait_for(lambda: (said.stat().st_size, self._answers()), lambda seen: seen[1], self._process)
        except AssertionError as error:
            raise RuntimeError(f"Kafka did not start: {said.read_text()[-3000:]}") from error

    def kill(self) -> None:
        """End it at once, as a crash does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it in order."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            try:
                self._process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        from kafka import KafkaAdminClient
        from kafka.errors import KafkaError

        try:
            socket.create_connection(("127.0.0.1", self.port), 1.0).close()
            KafkaAdminClient(bootstrap_servers=self.address, bootstrap_timeout_ms=3000).close()
        except (KafkaError, OSError):
            return False
        return True

    def _java(self, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        # a session of its own: the JVM must outlive Ctrl-C, so that whoever started it can stop it in order
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        with (self.folder / "out.log").open("ab") as out:
            return subprocess.Popen(
                ["java", *_JVM, quiet, "-cp", f"{jars()}/*", main, *arguments],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _make_certificate(self) -> None:
        store = ["-keystore", "broker.p12", "-storepass", "changeit", "-alias", "broker"]
        make = ["-genkeypair", "-keyalg", "EC", "-dname", "CN=127.0.0.1", "-ext", "san=ip:127.0.0.1", "-validity", "99"]
        for command in ([*make, *store], ["-exportcert", "-rfc", "-file", self.certificate.name, *store]):
            subprocess.run(["keytool", *command], cwd=self.folder, check=True, capture_output=True)

    def _properties(self, secure: int, behind: int, proxied: int) -> str:
        plain = "org.apache.kafka.common.security.plain.PlainLoginModule"
        users = f'user_{USER}="{PASSWORD}"'
        most = len(self.voters) // 2 + 1
        return f"""
process.roles=broker,controller
node.id={self.node}
controller.quorum.voters={",".join(f"{n}@127.0.0.1:{port}" for n, port in enumerate(self.voters, start=1))}
broker.session.timeout.ms={9000 if len(self.voters) == 1 else 3000}
broker.heartbeat.interval.ms={2000 if len(self.voters) == 1 else 500}
default.replication.factor={len(self.voters)}
min.insync.replicas={most}
controller.listener.names=CONTROLLER
listeners=OPEN://{self.address},CONTROLLER://127.0.0.1:{self.voters[self.node - 1]},SECURE://{self.secure},BEHIND://127.0.0.1:{behind}
advertised.listeners=OPEN://{self.address},SECURE://{self.secure},BEHIND://127.0.0.1:{proxied}
listener.security.protocol.map=OPEN:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL,BEHIND:PLAINTEXT
inter.broker.listener.name=OPEN
ssl.keystore.type=PKCS12
ssl.keystore.location={self.folder}/broker.p12
ssl.keystore.password=changeit
sasl.enabled.mechanisms=PLAIN
listener.name.secure.plain.sasl.jaas.config={plain} required {users};
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
log.dirs={self.folder}/data
auto.create.topics.enable=false
offsets.topic.replication.factor={len(self.voters)}
offsets.topic.num.partitions=1
transaction.state.log.replication.factor={len(self.voters)}
transaction.state.log.min.isr={most}
transaction.state.log.num.partitions=1
transaction.abort.timed.out.transaction.cleanup.interval.ms=500
group.initial.rebalance.delay.ms=0
log.flush.interval.messages=1
"""


class Cluster:
    """Three nodes, of which any two keep what was confirmed; ``address`` names all."""

    def __init__(self, folder: Path) -> None:
        voters, cluster = tuple(free_ports(3)), identity()
        self.nodes = {
            node: Broker(folder / f"node{node}", node=node, voters=voters, cluster=cluster) for node in (1, 2, 3)
        }
        self.address = ",".join(node.address for node in self.nodes.values())

    def start(self) -> None:
        """Start all, which need each other, and wait until they answer."""
        for node in self.nodes.values():
            node.begin()
        for node in self.nodes.values():
            node.wait()

    def stop(self) -> None:
        """End all at once: in order they would wait for each other."""
        for node in self.nodes.values():
            node.kill()


def identity() -> str:
    """Return a name for a new cluster."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def main() -> None:
    """Run a broker until Ctrl-C."""
    from kafka import KafkaAdminClient

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=9092)
    parser.add_argument("--topic", default="news", help="made with 4 partitions")
    given = parser.parse_args()
    if MISSING:
        parser.exit(1, f"a broker needs {' and '.join(MISSING)} on the path\n")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # or the broker would outlive us
    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(Path(folder) / "kafka", given.port)
        try:
            broker.start()
            admin = KafkaAdminClient(bootstrap_servers=broker.address)
            kept = {"retention.ms": "-1"}  # documents are older than a week
            admin.create_topics({given.topic: {"num_partitions": 4, "configs": kept}}, wait_for_metadata=True)
            admin.close()
            print(f"Kafka {VERSION} is ready: kafka://{broker.address}/{given.topic} (Ctrl-C ends it)", flush=True)
            signal.pause()
        except KeyboardInterrupt:
            pass
        finally:
            broker.stop()


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    main()
