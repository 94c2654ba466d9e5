"""The type system of AMQP 1.0 (part 1): types and their encodings."""
