"""SASL for AMQP 1.0 (part 5), as server and as client."""
