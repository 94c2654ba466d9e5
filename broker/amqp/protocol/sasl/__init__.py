"""Part 5 of AMQP 1.0: SASL, as server and as client."""
