"""What is not run when the pages are: by a test of its own, or not at all."""

from __future__ import annotations

# Pages of which another test runs all blocks.
PAGES = {
    "docs/queues-as-code.md": "console/configuration/queues_as_code::"
    "each_block_does_what_the_page_says",
    "docs/tutorial.md": "tutorial::"
    "from_an_empty_directory_to_a_resubmitted_dead_letter",
}
GUIDES = "docs/coming-from/"
OF_GUIDES = "guides::the_blocks_of_a_guide_run"
# Its blocks are tables that benchmarks have printed.
PRINTED = "docs/benchmarks.md"
# Single blocks that another test runs, by page and by how they begin.
BLOCKS = {
    "docs/amqp.md": {
        "const { create_container": "amqp/page::the_program_for_rhea_runs",
        "const { filter }": "amqp/page::the_program_for_rhea_runs",
        "from proton": "amqp/page::the_program_for_proton_runs",
    },
    "docs/audit.md": {
        "import hashlib": (
            "console/audit/audit::somebody_else_can_verify_what_is_exported"
        ),
    },
    "docs/install.md": dict.fromkeys(
        (
            'INSTALLED_APPS += ["django.contrib.postgres"',
            "from broker.client import declare_queue",
            "from django.db import transaction",
            "from broker.client import unit_of_work",
            "from broker.client import Delivery",
        ),
        "install::a_new_project_puts_gets_and_handles",
    )
    | dict.fromkeys(
        ('INSTALLED_APPS = ["console"', "urlpatterns", "application =", "BACKOUT ="),
        "install_console::init_shows_what_it_changes_and_changes_it_once",
    ),
    "docs/testing.md": {
        "from django.contrib.auth": "users_project::"
        "with_unusual_settings_in_processes_on_cloned_databases",
        "class CheckoutTests": "users_project::"
        "with_unusual_settings_in_processes_on_cloned_databases",
        "pytest_plugins": "users_project::"
        "by_pytest_in_a_process_of_its_own_on_databases_that_are_kept",
    },
}
# Languages that nothing here runs, and why.
KINDS = {
    "caddyfile": "Caddy",
    "ini": "a unit of systemd; test_run compares it with the Procfile",
    "java": "Java, with the client of another product",
    "mermaid": "a drawing",
    "nginx": "nginx",
    "text": "a drawing, or what a program prints",
}
# First words of lines of shells that are not run, and why.
WORDS = {
    **dict.fromkeys(
        ("systemctl", "journalctl", "git", "set"), "the machine of an installation"
    ),
    **dict.fromkeys(("docker", "cp"), "a container engine"),
    **dict.fromkeys(
        ("psql", "pg_ctl", "pg_resetwal", "pg_dump"), "two clusters of PostgreSQL"
    ),
    "make": "starts these tests, or processes that stay",
    "kubectl": "Kubernetes",
    "pip": "changes the environment; test_install does so in one of its own",
    "openapi-python-client": "test_api_generated_client makes the client",
    "opentelemetry-instrument": "a package that is not installed",
    "celery": "serves until it is stopped",
    "coverage": "starts these tests",
    "tests": "a program of this repository that takes minutes",
}
# Commands that serve until they are stopped, ask, or write files that test_install and
# test_install_console have them write: their options are read.
SERVING = {
    *("broker_bridge", "broker_dispatch", "broker_listen", "with_servers"),
    *("backout run", "backout init", "createsuperuser", "collectstatic"),
}
