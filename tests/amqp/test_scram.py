"""SCRAM-SHA-256, by the standard's example and against itself."""

from __future__ import annotations

from base64 import b64decode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.amqp.protocol.conditions import UNAUTHORIZED_ACCESS, AmqpError
from broker.amqp.protocol.sasl import scram
from broker.amqp.protocol.sasl.saslprep import prepare
from broker.amqp.protocol.sasl.scram import ScramClient, ScramServer

# RFC 7677, section 3.
USER, PASSWORD = "user", "pencil"
SALT = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
CLIENT_NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_NONCE = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
CLIENT_FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = (
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
)
CLIENT_FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="

KEYS = scram.keys(PASSWORD, salt=SALT, iterations=4096)


def asked() -> ScramServer:
    """A server that waits for the client's last message."""
    server = ScramServer(SERVER_NONCE)
    server.first(CLIENT_FIRST)
    server.challenge(KEYS)
    return server


def test_the_standard_s_exchange_as_a_server() -> None:
    server = ScramServer(SERVER_NONCE)
    assert server.first(CLIENT_FIRST) == USER
    assert server.challenge(KEYS) == SERVER_FIRST
    assert server.final(CLIENT_FINAL) == SERVER_FINAL


def test_the_standard_s_exchange_as_a_client() -> None:
    client = ScramClient(USER, PASSWORD, CLIENT_NONCE)
    assert client.first() == CLIENT_FIRST
    assert client.respond(SERVER_FIRST) == CLIENT_FINAL
    client.verify(SERVER_FINAL)


names = st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), min_size=1)


@given(user=names, password=names, tried=names)
@settings(max_examples=20)
def test_a_password_opens_and_another_does_not(
    user: str, password: str, tried: str
) -> None:
    server, client = ScramServer(), ScramClient(user, tried)
    assert server.first(client.first()) == user
    answer = client.respond(server.challenge(scram.keys(password)))
    if tried == password:
        client.verify(server.final(answer))
    else:
        with pytest.raises(AmqpError, match="the password is another"):
            server.final(answer)


def test_keys_are_salted() -> None:
    one, other = scram.keys(PASSWORD), scram.keys(PASSWORD)
    assert one.salt != other.salt
    assert one.stored_key != other.stored_key
    assert scram.keys(PASSWORD, salt=one.salt) == one


def test_who_is_not_there_cannot_be_told_from_who_is() -> None:
    one = scram.decoy("nobody", b"secret")
    again = scram.decoy("nobody", b"secret")
    assert (one.salt, one.iterations) == (again.salt, again.iterations)
    assert len(one.salt) == len(scram.keys(PASSWORD).salt)
    assert scram.decoy("anybody", b"secret").salt != one.salt
    server, client = ScramServer(), ScramClient("nobody", PASSWORD)
    server.first(client.first())
    with pytest.raises(AmqpError, match="the password is another"):
        server.final(client.respond(server.challenge(one)))


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"n,,",
        b"p=tls-unique,,n=user,r=abc",
        b"n,a=other,n=user,r=abc",
        b"n,,n=,r=abc",
        b"n,,n=user,r=",
        b"n,,n=user",
        b"n,,m=ext,n=user,r=abc",
        b"n,,r=abc,n=user",
        b"n,,n=a=b,r=abc",
        b"n,,n=\x00,r=abc",
        b"x,,n=user,r=abc",
        b"\xff\xfe",
    ],
)
def test_a_first_message_that_is_none_is_refused(message: bytes) -> None:
    with pytest.raises(AmqpError) as refused:
        ScramServer().first(message)
    assert refused.value.condition == UNAUTHORIZED_ACCESS


@pytest.mark.parametrize(
    "message",
    [
        b"",
        CLIENT_FINAL.replace(b"biws", b"eSws"),  # another header
        CLIENT_FINAL.replace(b"c=biws", b"c=b-ws"),
        CLIENT_FINAL.replace(b"c=biws", "c=bíws".encode()),
        CLIENT_FINAL.replace(b"$k0", b"$k1"),  # another nonce
        CLIENT_FINAL.replace(b"p=dHzb", b"p=dHzc"),
        CLIENT_FINAL.replace(b"p=dHzb", b"p="),  # of another length
        CLIENT_FINAL.replace(b",p=", b",q="),
        b"\xff",
    ],
)
def test_a_final_message_that_is_none_is_refused(message: bytes) -> None:
    with pytest.raises(AmqpError) as refused:
        asked().final(message)
    assert refused.value.condition == UNAUTHORIZED_ACCESS


def test_a_final_message_may_have_extensions() -> None:
    server, client = ScramServer(SERVER_NONCE), ScramClient(USER, PASSWORD)
    server.first(client.first())
    answer = client.respond(server.challenge(KEYS))
    unproved, _, _ = answer.rpartition(b",p=")
    with pytest.raises(AmqpError, match="the password is another"):
        server.final(answer.replace(unproved, unproved + b",x=y"))  # they are proved


@pytest.mark.parametrize(
    "challenge",
    [
        b"",
        SERVER_FIRST.replace(b"r=rOpr", b"r=rOpx"),  # not our nonce
        SERVER_FIRST.replace(SERVER_NONCE.encode(), b""),  # ours and no more
        SERVER_FIRST.replace(b"i=4096", b"i=4095"),
        SERVER_FIRST.replace(b"i=4096", b"i=1000001"),
        SERVER_FIRST.replace(b"i=4096", b"i=-1"),
        SERVER_FIRST.replace(b"i=4096", b"i=" + b"9" * 5000),
        SERVER_FIRST.replace(b"s=W22", b"s=W2"),
    ],
)
def test_a_challenge_that_is_none_is_refused(challenge: bytes) -> None:
    with pytest.raises(AmqpError):
        ScramClient(USER, PASSWORD, CLIENT_NONCE).respond(challenge)


@pytest.mark.parametrize(
    "final", [b"", b"e=other-error", b"v=", b"v=AAAA", SERVER_FINAL[:-4] + b"AAA="]
)
def test_a_server_that_does_not_know_the_password_is_found_out(final: bytes) -> None:
    client = ScramClient(USER, PASSWORD, CLIENT_NONCE)
    client.respond(SERVER_FIRST)
    with pytest.raises(AmqpError):
        client.verify(final)


def test_a_server_cannot_skip_the_proof() -> None:
    with pytest.raises(AmqpError):
        ScramClient(USER, PASSWORD, CLIENT_NONCE).verify(SERVER_FINAL)


# RFC 4013, section 3.
@pytest.mark.parametrize(
    ("written", "prepared"),
    [
        ("I\u00adX", "IX"),
        ("user", "user"),
        ("USER", "USER"),
        ("\u00aa", "a"),
        ("\u2168", "IX"),
        ("a\u00a0b", "a b"),
        ("\u0627\u0031\u0627", "\u0627\u0031\u0627"),
    ],
)
def test_the_standard_s_examples_of_prepared_names(written: str, prepared: str) -> None:
    assert prepare(written) == prepared


@pytest.mark.parametrize("written", ["\u0007", "\u0627\u0031", "", "\u00ad", "\u0627a"])
def test_what_no_name_may_have_is_refused(written: str) -> None:
    with pytest.raises(AmqpError):
        prepare(written)
