"""SASL: what a server asks, what it lets through, and what it does not wait for."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from broker.amqp.protocol import conditions
from broker.amqp.protocol.connection import Connection
from broker.amqp.protocol.events import Attached, Begun, Opened
from broker.amqp.protocol.frames import (
    AMQP_HEADER,
    SASL_HEADER,
    TLS_HEADER,
    Frames,
    frame,
)
from broker.amqp.protocol.performatives import (
    Open,
    Performative,
    SaslChallenge,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    SaslResponse,
    Source,
    Target,
    decode_performative,
    encode_performative,
)
from broker.amqp.protocol.sasl import scram
from broker.amqp.protocol.sasl.server import (
    ANONYMOUS,
    EXTERNAL,
    MOST_BYTES,
    OUR_TROUBLE,
    PLAIN,
    SCRAM,
    Anonymous,
    ClientSasl,
    Denied,
    External,
    Plain,
    Proven,
    Question,
    ServerSasl,
    WantsKeys,
)
from tests.amqp.ends import byte_by_byte, whole

ALL = (SCRAM, PLAIN, EXTERNAL, ANONYMOUS)
KEYS = scram.keys("pencil")

Cut = Callable[[bytes], Iterable[bytes]]


def said(*performatives: Performative) -> bytes:
    return b"".join(frame(0, encode_performative(one), kind=1) for one in performatives)


def heard(data: bytes) -> list[Performative]:
    return [
        decode_performative(body, at, end)[0]
        for _, _, body, at, end in Frames(MOST_BYTES).feed(data)
    ]


def greeted(mechanisms: Iterable[str] = ALL) -> ServerSasl:
    server = ServerSasl(tuple(mechanisms))
    assert server.receive(SASL_HEADER) is None
    greeting = server.outgoing()
    assert greeting.startswith(SASL_HEADER)
    (offer,) = heard(greeting[8:])
    assert isinstance(offer, SaslMechanisms)
    assert offer.sasl_server_mechanisms == tuple(mechanisms)
    return server


def outcome(server: ServerSasl) -> SaslOutcome:
    (last,) = heard(server.outgoing())
    assert isinstance(last, SaslOutcome)
    return last


def answer(server: ServerSasl, question: Question | None) -> None:
    match question:
        case Plain(user, password):
            right = (user, password) == ("user", "pencil")
            server.accept() if right else server.deny()
        case WantsKeys(user):
            known = user == "user"
            server.challenge(KEYS if known else scram.decoy(user, b"secret"))
        case Proven() | Anonymous() | External():
            server.accept()


def talk(client: ClientSasl, server: ServerSasl, cut: Cut = whole) -> None:
    """Until nobody says any more."""
    while data := client.outgoing():
        for piece in cut(data):
            answer(server, server.receive(piece))
        for piece in cut(server.outgoing()):
            client.receive(piece)


@pytest.mark.parametrize("cut", [whole, byte_by_byte])
@pytest.mark.parametrize("mechanism", ALL)
def test_a_client_and_a_server_agree(mechanism: str, cut: Cut) -> None:
    client = ClientSasl([mechanism], user="user", password="pencil", hostname="h")
    server = ServerSasl(ALL)

    talk(client, server, cut)

    assert client.succeeded
    assert server.succeeded
    assert (server.mechanism, server.hostname) == (mechanism, "h")
    assert client.rest() == server.rest() == b""


@pytest.mark.parametrize("mechanism", [PLAIN, SCRAM])
@pytest.mark.parametrize(("user", "password"), [("user", "pen"), ("nobody", "pencil")])
def test_a_wrong_password_is_not_welcome(
    mechanism: str, user: str, password: str
) -> None:
    client = ClientSasl([mechanism], user=user, password=password)
    server = ServerSasl(ALL)

    talk(client, server)

    assert client.over
    assert server.over
    assert not client.succeeded
    assert not server.succeeded
    assert client.error is not None
    assert client.error.condition == conditions.UNAUTHORIZED_ACCESS
    assert server.user == user


def test_a_client_takes_the_best_of_what_is_offered() -> None:
    client = ClientSasl([SCRAM, PLAIN], user="user", password="pencil")
    talk(client, ServerSasl([ANONYMOUS, PLAIN]))
    assert client.mechanism == PLAIN
    client = ClientSasl([SCRAM], user="user", password="pencil")
    talk(client, ServerSasl([ANONYMOUS, PLAIN]))
    assert client.over
    assert client.error is not None


def test_everything_may_come_in_one_packet() -> None:
    connection = Connection("client", is_server=False)
    connection.open()
    connection.begin().sender("put", Source("a"), Target("orders"))
    server = ServerSasl([PLAIN])
    init = said(SaslInit(PLAIN, b"\0user\0pencil"))

    question = server.receive(SASL_HEADER + init + connection.outgoing())

    assert question == Plain("user", "pencil")
    server.accept()
    told = Connection("server", is_server=True).receive(server.rest())
    assert [type(event) for event in told] == [Opened, Begun, Attached]


def test_what_comes_while_the_server_thinks_is_kept() -> None:
    server = greeted()
    assert server.receive(said(SaslInit(ANONYMOUS))) == Anonymous("")
    assert server.receive(AMQP_HEADER[:3]) is None
    assert server.receive(AMQP_HEADER[3:] + b"more") is None
    server.accept()
    assert server.rest() == AMQP_HEADER + b"more"
    assert outcome(server) == SaslOutcome(0)


@pytest.mark.parametrize("header", [AMQP_HEADER, TLS_HEADER, b"GET /", b"x"])
def test_another_protocol_is_told_that_we_want_sasl(header: bytes) -> None:
    server = ServerSasl(ALL)
    assert isinstance(server.receive(header), Denied)
    assert server.outgoing() == SASL_HEADER
    assert server.over
    assert server.receive(SASL_HEADER) is None
    assert server.outgoing() == b""


@pytest.mark.parametrize(
    ("init", "question"),
    [
        (SaslInit(PLAIN, b"\0user\0pencil"), Plain("user", "pencil")),
        (SaslInit(PLAIN, b"user\0user\0pencil"), Plain("user", "pencil")),
        (SaslInit(PLAIN, "\0ü\0ß".encode()), Plain("ü", "ß")),
        (SaslInit(EXTERNAL), External("")),
        (SaslInit(EXTERNAL, b""), External("")),
        (SaslInit(EXTERNAL, b"me"), External("me")),
        (SaslInit(ANONYMOUS, b"it's me"), Anonymous("it's me")),
        (SaslInit(SCRAM, b"n,,n=us=2Cer,r=abc"), WantsKeys("us,er")),
    ],
)
def test_a_first_word_becomes_a_question(init: SaslInit, question: Question) -> None:
    assert greeted().receive(said(init)) == question


@pytest.mark.parametrize(
    "init",
    [
        SaslInit("GSSAPI"),
        SaslInit(PLAIN, b""),
        SaslInit(PLAIN, b"\0user"),
        SaslInit(PLAIN, b"\0user\0pencil\0more"),
        SaslInit(PLAIN, b"\0\0pencil"),
        SaslInit(PLAIN, b"\0user\0"),
        SaslInit(PLAIN, b"admin\0user\0pencil"),
        SaslInit(PLAIN, b"\0\xff\0pencil"),
        SaslInit(EXTERNAL, b"\xff"),
        SaslInit(SCRAM, b"p=tls-unique,,n=user,r=abc"),
    ],
)
def test_a_first_word_that_cannot_be_is_denied(init: SaslInit) -> None:
    server = greeted()
    assert isinstance(server.receive(said(init)), Denied)
    assert outcome(server) == SaslOutcome(1)
    assert server.over
    assert not server.succeeded


@pytest.mark.parametrize("mechanism", [PLAIN, SCRAM])
def test_a_client_may_wait_to_be_asked(mechanism: str) -> None:
    server = greeted()
    assert server.receive(said(SaslInit(mechanism))) is None
    assert heard(server.outgoing()) == [SaslChallenge(b"")]
    first = b"\0user\0pencil" if mechanism == PLAIN else b"n,,n=user,r=abc"
    question = server.receive(said(SaslResponse(first)))
    assert question in (Plain("user", "pencil"), WantsKeys("user"))


@pytest.mark.parametrize(
    "out_of_turn",
    [
        said(SaslResponse(b"")),
        said(SaslOutcome(0)),
        said(SaslMechanisms((PLAIN,))),
        said(SaslInit(PLAIN), SaslInit(PLAIN)),
        frame(0, encode_performative(Open("client"))),
        frame(0, b"", kind=1),
        bytes(8),
        b"\xff" * 8,
        frame(0, b"\0S\x41\xc0\x01\xff", kind=1),
    ],
)
def test_what_is_out_of_turn_is_denied(out_of_turn: bytes) -> None:
    server = greeted()
    assert isinstance(server.receive(out_of_turn), Denied)
    assert outcome_code(server) == 1


def outcome_code(server: ServerSasl) -> int:
    last = heard(server.outgoing())[-1]
    assert isinstance(last, SaslOutcome)
    return last.code


@pytest.mark.parametrize(
    ("size", "is_good"),
    [(MOST_BYTES - 1, True), (MOST_BYTES, True), (MOST_BYTES + 1, False)],
)
@pytest.mark.parametrize("is_asked", [False, True])
def test_what_anybody_may_send_is_bounded(
    size: int, is_good: bool, is_asked: bool
) -> None:
    server = greeted()
    endless = MOST_BYTES.to_bytes(4, "big") + b"\2\1\0\0"  # with all that came before
    first = said(SaslInit(ANONYMOUS)) if is_asked else endless
    left = size - len(SASL_HEADER) - len(first)
    question = server.receive(first)
    assert (question is not None) == is_asked
    denied = server.receive(bytes(left))
    assert isinstance(denied, Denied) != is_good
    if not is_good:
        server.accept()
        assert not server.succeeded
        assert outcome_code(server) == 1


def test_a_server_in_trouble_says_so() -> None:
    server = greeted()
    server.receive(said(SaslInit(ANONYMOUS)))
    server.deny(OUR_TROUBLE)
    server.accept()
    assert outcome(server) == SaslOutcome(4)
    assert not server.succeeded


def test_a_server_may_prove_itself_in_a_challenge_or_with_the_outcome() -> None:
    for in_challenge in (False, True):
        client = ClientSasl([SCRAM], user="user", password="pencil")
        proving = scram.ScramServer()
        client.receive(SASL_HEADER + said(SaslMechanisms((SCRAM,))))
        (init,) = heard(client.outgoing()[8:])
        assert isinstance(init, SaslInit)
        proving.first(init.initial_response or b"")
        client.receive(said(SaslChallenge(proving.challenge(KEYS))))
        (response,) = heard(client.outgoing())
        assert isinstance(response, SaslResponse)
        proof = proving.final(response.response)
        if in_challenge:
            client.receive(said(SaslChallenge(proof)))
            assert heard(client.outgoing()) == [SaslResponse(b"")]
            client.receive(said(SaslOutcome(0)) + b"behind")
        else:
            client.receive(said(SaslOutcome(0, proof)) + b"behind")
        assert client.succeeded
        assert client.rest() == b"behind"


@pytest.mark.parametrize("proof", [None, b"", b"v=AAAA"])
def test_a_server_that_cannot_prove_itself_is_not_believed(proof: bytes | None) -> None:
    client = ClientSasl([SCRAM], user="user", password="pencil")
    client.receive(SASL_HEADER + said(SaslMechanisms((SCRAM,)), SaslOutcome(0, proof)))
    assert client.over
    assert not client.succeeded


@pytest.mark.parametrize(
    "answered", [AMQP_HEADER, SASL_HEADER + said(SaslOutcome(0)), b"HTTP/1.1 400"]
)
def test_a_server_that_speaks_otherwise_is_left(answered: bytes) -> None:
    client = ClientSasl([PLAIN], user="user", password="pencil")
    client.receive(answered)
    assert client.over
    assert not client.succeeded
    client.receive(SASL_HEADER)
    assert client.outgoing() == SASL_HEADER
