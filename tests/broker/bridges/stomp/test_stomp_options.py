"""Connection factories of STOMP, right and wrong ones."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest

from broker.bridges.providers.interface import Destination, Factory
from broker.bridges.providers.stomp import connect
from broker.bridges.providers.stomp.options import options_of
from broker.errors.bridges import ProviderLost, WrongFactory
from tests.broker.bridges.servers import HOST


def factory(url: str = "stomp://host", **fields: object) -> Factory:
    said: dict[str, object] = {"name": "theirs", "provider": "stomp", "url": url}
    return Factory(**{**said, **fields})  # type: ignore[arg-type]


def test_what_is_not_said_is_as_usual() -> None:
    options = options_of(factory())

    assert (options.host, options.port, options.virtual_host) == ("host", 61613, "/")
    assert options.named(Destination("a")) == "/queue/a"
    assert options.named(Destination("a", is_topic=True)) == "/topic/a"
    assert options.heartbeat_ms == 10_000
    assert options.tls is None


def test_what_is_said_counts() -> None:
    said = {"queue-prefix": "", "topic-prefix": "t://", "heartbeat": "0"}
    options = options_of(factory("stomps://host:1/my%20own", properties=said))

    assert (options.port, options.virtual_host) == (1, "my own")
    assert options.named(Destination("a")) == "a"
    assert options.named(Destination("a", is_topic=True)) == "t://a"
    assert options.tls is not None


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (factory("http://host"), "not a URL like stomp://"),
        (factory("stomp://"), "not a URL like stomp://"),
        (factory("stomp://ann:secret@host"), "Use the fields for them"),
        (factory("stomp://host?a=b"), "may have a host, a port"),
        (factory("stomp://host/a%0Ab"), "Its URL has a line end"),
        (factory(password="a\nb"), "Its password has a line end"),
        (factory(username="a\rb"), "Its user name has a line end"),
        (factory(properties={"prefix": "x"}), "no property 'prefix'. These exist"),
        (
            factory(properties={"heartbeat": "often"}),
            "heartbeat must be a number of seconds",
        ),
        (factory(properties={"reply-timeout": "0"}), "from 0.1 to 3600, not '0'"),
        (factory(properties={"maps": "1"}), "maps must be yes or no"),
        (
            factory("stomps://host", properties={"ca-file": "/nowhere.pem"}),
            "ca-file cannot be read",
        ),
    ],
)
def test_what_cannot_be_used_is_told_in_a_sentence(wrong: Factory, why: str) -> None:
    with pytest.raises(WrongFactory, match=why) as told:
        options_of(wrong)

    assert told.value.why.endswith(".")
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("name", ["", "a\nb", "a\0"])
def test_no_destination_has_such_a_name(name: str) -> None:
    with pytest.raises(WrongFactory, match="is not a name of a destination"):
        options_of(factory()).named(Destination(name))


@pytest.mark.parametrize(
    ("said", "destination"),
    [
        ("/queue/a", Destination("a")),
        ("/topic/a", Destination("a", is_topic=True)),
        ("/temp-queue/a", Destination("usual")),
        ("/queue/", Destination("usual")),
        ("", Destination("usual")),
    ],
)
def test_a_destination_is_what_the_server_says(
    said: str, destination: Destination
) -> None:
    assert (
        options_of(factory()).destination_of(said, Destination("usual")) == destination
    )


def test_where_nobody_listens_nobody_answers() -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]

    with pytest.raises(ProviderLost, match=f"{HOST}:{port} does not answer: .*refused"):
        connect(factory(f"stomp://{HOST}:{port}"))


def test_a_host_that_nobody_knows_does_not_answer() -> None:
    with pytest.raises(ProviderLost, match="does not answer"):
        connect(factory("stomp://no-such-host.invalid"))


@pytest.mark.parametrize("scheme", ["stomp", "stomps"])
def test_who_listens_and_says_nothing_is_not_waited_for(scheme: str) -> None:
    with closing(socket.create_server((HOST, 0))) as silent:
        url = f"{scheme}://{HOST}:{silent.getsockname()[1]}"

        with pytest.raises(
            ProviderLost, match=r"CONNECTED frame within 0\.2 s|timed out"
        ):
            connect(factory(url, connect_timeout_s=0.2))
