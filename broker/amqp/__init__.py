"""The AMQP 1.0 front door: clients of any language put and get by the standard.

``protocol`` turns bytes into events and back, and knows nothing of this broker. The
modules beside it turn the events into puts, gets and units of work.
"""
