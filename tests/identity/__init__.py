"""A provider of OpenID Connect, and somebody who signs in there."""

CLIENT, SECRET = "backout", "a secret between two"
