"""The AMQP 1.0 front door: clients of any language put and get by the standard.

``protocol`` turns bytes into events and back, and knows nothing of this broker. The
modules beside it turn the events into puts, gets and units of work. From the top down;
each imports only those below it, and names those above by ``interfaces``:

============================ =========================================================
``processes``                listeners of one machine
``listener``                 sockets of one process, and what its clients share
``clients``                  who is connected: login, permissions, the registry
``nodes``                    what a client attaches to
``senders``, ``receivers``   what it gets, and what it puts
``transactions``             what waits for its discharge; what is committed at once
``interfaces``               what the parts of a listener know of each other
``messages``                 messages as the broker stores them, and back
``refusals``, ``limits``     the broker's errors as conditions; bounds of a client
``threads``, ``ports``       calls of the database; where to listen
``protocol``                 bytes and events
============================ =========================================================
"""
