"""The REST interface: acts as operations, authentication, problem details."""
