"""Part 1 of AMQP 1.0: types, and their bytes."""
