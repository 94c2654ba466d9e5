"""The console in a Django project: settings, checks, middleware, sockets, URLs."""
