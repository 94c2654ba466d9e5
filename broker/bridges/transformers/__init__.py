"""Message transformers of links, which change a message before it is sent.

    registry    registration by ``@transforms("name")``, and the possible results
    running     run one transformer for one message, here or in a worker process
    checking    validation of the result
    failing     error texts of transformers, made safe to show

    json_patch, headers, route     built-in transformers

A transformer with a time limit runs in a worker process, which is killed when the time
is over:

    workers     the worker processes, as seen by the link
    carrying    encoding of messages and results, in ``frames``
    worker      the main module of a worker; it runs ``serving``
    lifeline    makes a worker die with its parent

Source:
    Open MQ, "Administration Guide", chapter "Bridge Services": message transformers;
    BRIDGE-5 and BRIDGE-6.
"""
