"""JMS bridges: links that transfer messages, in order, between providers.

A **bridge** has **links**. A link is one-way: it receives from its **source** and sends
to its **target**. Each of the two is a destination at a provider; a **connection
factory** has the provider's address and login. At least one of the two is this broker.
A message that cannot be transferred goes to the **dead message queues** of the bridge.

``transfer`` has the steps of a transfer, in the order of the manual.

Source:
    Open MQ, "Administration Guide", chapter "Bridge Services"; the numbered rules are
    those of ``docs/spec.toml``, BRIDGE-1 to 21.
"""
