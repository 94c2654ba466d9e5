"""An adapter of Awa's package for Python, ``awa-pg``: as its own in Rust, but with
handlers in Python, as users of that package have them."""
