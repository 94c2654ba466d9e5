"""The Django project: settings, and the pages, API and commands of operators."""
