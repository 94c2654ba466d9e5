"""JMS bridges: links that carry messages, in order, between providers.

A **bridge** has **links**. A link is one-way: it receives from its **source** and sends
to its **target**. Each of the two is a destination at a provider, and a **connection
factory** says how to reach that. At least one of the two is this broker. What cannot be
carried goes to the **dead message queues** of the bridge.

``transfer`` has the steps that each message goes through, in the order of the manual.

Source:
    Open MQ, "Administration Guide", chapter "Bridge Services"; the numbered rules are
    those of ``docs/spec.toml``, BRIDGE-1 to 21.
"""
