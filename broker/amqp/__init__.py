"""The AMQP 1.0 server: clients of any language put and get messages by the standard.

``protocol`` turns bytes into events and back, and is independent of this broker. The
other modules turn the events into puts, gets and units of work. Listed from the top
down; a module imports only modules below it, and those above it for types alone:

============================ =========================================================
``listener``                 sockets of one process, and state shared by its clients
``clients``                  connections: login, permissions, the registry
``nodes``                    attach and detach: sources and targets of links
``senders``, ``receivers``   links that get messages, links that put them
``transactions``             open transactions, and the commit of many at once
``ends``                     what each end of a link does with a client's events
``messages``                 conversion between AMQP messages and stored messages
``refusals``, ``limits``     the broker's errors as AMQP conditions; limits of clients
``threads``, ``ports``       threads for database calls; host and ports of a listener
``protocol``                 bytes and events
============================ =========================================================
"""
