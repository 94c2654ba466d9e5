"""The Django project: settings, and the pages, API and commands of operators.

A folder is a subject, the same names in each: ``pages`` read a form, call an act and
render; ``queries`` are what REST and the command line read, declared once for both;
``api`` and ``cli`` are what these cannot derive from acts and queries; all other
modules are what these read. A subject knows those below it, and never
another's pages, api or cli; `lint-imports` checks that. From the top down:

- ``integration``: what other projects install: settings, middleware, sockets, checks
- ``reference``: the description of the REST interface, as pages
- ``home``: Overview, Health, the frame of each page, the palette, signing in
- ``alerts``: what rings, silences, places to notify
- ``reports``: reports and their runs, over REST (their pages: ``dashboards.pages``)
- ``operations``: plans of work on many messages, patches, results
- ``dead_letters``: lists, groups by cause, rules, the discard bin
- ``topology``: what is connected to what, and where messages go
- ``bridges``: links to other brokers, dead messages of links
- ``messages``: search, browse, one message, send, edit, tasks, schedules
- ``consumers``: units of work, handlers, connections
- ``queues``: the list, one queue, its history and counters
- ``configuration``: addresses, settings, declarations in files
- ``audit``: what people did
- ``single_sign_on``, ``second_factors``, ``accounts``: who people are and what they may
- ``bodies``: what is in a message, in readable form
- ``layout``: navigation, links, parts of pages
- ``edges``: acts and queries as operations of REST and as subcommands, acts as forms;
  errors in words
- ``runtime``: embedded servers and processes
- ``demo``: the demonstration

Beside them lie ``api`` and ``cli``, which put the parts of all subjects together, and
what Django, Celery and servers look for.
"""
