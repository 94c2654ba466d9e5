"""AMQP 1.0 without sockets: bytes in, events out, and back.

    bytes ── frames ──▶ bodies ── performatives ──▶ connection ──▶ events
                                  encoding, decoding: the type system
                                  sections: the parts of a message

It imports only the standard library. So it can be tested and fuzzed by itself, and used
for either end of a connection.

Source: OASIS AMQP 1.0, parts 1 (types) to 5 (security).
"""
