"""A publisher in a process of its own: what becomes of it, and of messages, when one of the two ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from tests.system.broker.cluster import Broker
from tests.system.broker.conftest import Topics
from tests.waiting import has_ended, wait_until
from vmfstream.connectors.kafka.options import ClientOptions, TopicAddress, parse_address
from vmfstream.connectors.kafka.publisher import Deadlines, OutgoingMessage
from vmfstream.connectors.kafka.sending_process import PublishingProcess
from vmfstream.errors import InputError

pytestmark = pytest.mark.broker


def sending(address: TopicAddress) -> PublishingProcess:
    return PublishingProcess(address, ClientOptions(), "run")


def some(number: int) -> list[OutgoingMessage]:
    return [OutgoingMessage(None, b"%d" % i) for i in range(number)]


def runs(process: int) -> bool:
    """Tell whether a process has not ended; one that has may wait for the one that started it to look."""
    stat = Path(f"/proc/{process}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in "ZX"


def test_epochs_are_sent_once_each(broker: Broker, topics: Topics) -> None:
    topic = topics(1)
    address = parse_address(topic.url)
    with closing(sending(address)) as sender:
        assert sender.delivered() == [0]
        assert (sender.send(3, some(1200)), sender.send(4, []), sender.send(4, some(5))) == (1200, 0, 0)
    with closing(sending(address)) as sender:
        assert sender.delivered() == [4]
    assert [int(one.value) for one in topic.read()] == [*range(1200)]


def test_messages_count_once_the_rest_is_there(broker: Broker, topics: Topics) -> None:
    topic = topics(1)
    address = parse_address(topic.url)

    def rest() -> list[OutgoingMessage]:
        assert topic.read() == []  # of 700 all are on their way
        return some(3)

    def broken() -> list[OutgoingMessage]:
        raise InputError("the run file is locked")

    with closing(sending(address)) as sender:
        assert sender.send(1, some(700), rest) == 703
        with pytest.raises(InputError, match="the run file is locked"):
            sender.send(2, some(700), broken)
    assert has_ended(sender._process)
    with closing(sending(address)) as again:
        assert again.delivered() == [1]
        assert again.send(2, some(2)) == 2
    assert [int(one.value) for one in topic.read()] == [*range(700), *range(3), *range(2)]


def test_a_process_that_has_ended_is_an_error(broker: Broker, topics: Topics) -> None:
    topic = topics(1)
    address = parse_address(topic.url)
    sender = sending(address)

    def halfway() -> Iterator[OutgoingMessage]:
        yield from some(1000)
        sender._process.kill()
        sender._process.join()
        yield from some(200_000)

    with pytest.raises(InputError, match="the process that sends messages has ended"):
        sender.send(1, halfway())
    with closing(sending(address)) as again:
        assert again.delivered() == [0]
        again.send(1, some(2))
    assert [one.value for one in topic.read()] == [b"0", b"1"]


def test_messages_that_cannot_be_made_are_not_sent(broker: Broker, topics: Topics) -> None:
    topic = topics(1)
    sender = sending(parse_address(topic.url))

    def broken() -> Iterator[OutgoingMessage]:
        yield from some(1000)
        raise InputError("the source does not answer")

    with pytest.raises(InputError, match="the source does not answer"):
        sender.send(1, broken())
    assert has_ended(sender._process)
    assert topic.read() == []


def test_a_cluster_that_refuses_is_told(broker: Broker) -> None:
    address, prompt = parse_address(f"kafka://{broker.address}/nowhere"), Deadlines(request_ms=1000, delivery_ms=2000)
    with pytest.raises(InputError, match=r"there is no topic nowhere at .*; make it again"):
        PublishingProcess(address, ClientOptions(), "run", prompt).send(1, some(1))


def test_it_ends_with_the_process_that_started_it(broker: Broker, topics: Topics) -> None:
    """Killed in the middle of an epoch; what a terminal sends to both is for the one that started it."""
    topic = topics(1)
    command = [sys.executable, "-m", "tests.system.broker.test_sending_process", topic.url]
    one = subprocess.Popen(command, cwd=Path(__file__).parents[3], stdout=subprocess.PIPE, text=True)
    assert one.stdout is not None
    number = int(one.stdout.readline())
    one.stdout.readline()  # it sends
    os.kill(number, signal.SIGINT)
    os.kill(number, signal.SIGHUP)
    time.sleep(0.2)
    assert runs(number)
    one.kill()
    one.communicate()
    wait_until(lambda: not runs(number))
    with closing(sending(parse_address(topic.url))) as again:
        assert again.delivered() == [0]
    assert topic.read() == []


def _send_for_ever(url: str) -> None:
    sender = sending(parse_address(url))
    print(sender._process.pid, flush=True)

    def endless() -> Iterator[OutgoingMessage]:
        for number in count():
            if number == 10_000:
                print("sending", flush=True)
            time.sleep(0.0 if number < 10_000 else 0.01)
            yield OutgoingMessage(None, b"x")

    sender.send(1, endless())


if __name__ == "__main__":
    _send_for_ever(sys.argv[1])
