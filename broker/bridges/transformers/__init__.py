"""Message transformers of links: what makes of a message the one that is sent on.

    registry    which there are: ``@transforms("name")``, and what they may return
    running     one message through one transformer, in this process or in a worker
    checking    whether what came back can be sent
    failing     what an exception of a transformer says to people

    json_patch, headers, route     those that come with the broker

A transformer that has a time limit runs in a worker process, which is killed when its
time is over:

    workers     the process, as the link sees it
    carrying    messages on their way to it and back, in ``frames``
    worker      what the process runs: ``serving``, once Django is there
    lifeline    why it dies with its parent, whatever it is doing

Source:
    Open MQ, "Administration Guide", chapter "Bridge Services": message transformers;
    BRIDGE-5 and BRIDGE-6.
"""
