"""The Django project, and the operator's pages."""
