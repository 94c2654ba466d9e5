# From a machine with Python and make to a running console: `make run`.
# Another Python: make run PYTHON=python3.12. Another port: make run PORT=8001.

PYTHON ?= python3
PY := .venv/bin/python
# Only pyspark is not published as a wheel; it is plain Python, and nothing is compiled.
# Python keeps bytecode of what it loads; that of all packages at once takes longer than
# they do.
PIP := $(PY) -W ignore -m pip install --quiet --disable-pip-version-check --no-compile \
  --require-hashes --only-binary :all: --no-binary pyspark,python-qpid-proton --use-pep517
# Tests and measurements have servers of their own, beside those of `make run`.
OWN_VAR = BACKOUT_VAR=$(or $(BACKOUT_VAR),var)/$@
# Tests run in two processes, each with servers of its own: what looks at the whole of a
# server sees the transactions of others. Servers that are named are there once.
TESTERS ?= $(if $(DATABASE_URL)$(REDIS_URL),1,1 2)
# A shell around each, so that killing it does not kill what ends the servers.
TESTER = --tx 'popen//python=sh -c "$(OWN_VAR)/$n $(PY) manage.py with_servers python \"$$@\"; exit" sh'
# Tests write bytecode even where Python is told not to: without it, each of their processes
# compiles all modules again, which takes up to half a minute.
BYTECODE = $(if $(PYTHONDONTWRITEBYTECODE),PYTHONDONTWRITEBYTECODE= \
  PYTHONPYCACHEPREFIX=$(abspath $(or $(BACKOUT_VAR),var))/bytecode)
RECENT := import sys; sys.exit(sys.version_info < (3, 11))
COMPILES := import os, shutil as s, sys, sysconfig as c; \
  sys.exit(not (s.which("cc") and os.path.exists(c.get_path("include") + "/Python.h")))
SAME := import filecmp, sys; sys.exit(not filecmp.cmp(*sys.argv[1:], shallow=False))
AWAY := The index does not answer: the pins were not checked.

.DEFAULT_GOAL := help
.PHONY: help setup run demo test test-all versions lint audit types bench spec docs venv runtime development

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' Makefile

setup: runtime ## Install what the console needs, without starting it
	@$(PY) -m compileall -qq -j 0 .venv/lib || true  # services may not write there

run: runtime ## Start everything and print the address; Ctrl-C ends it
	@exec $(PY) manage.py run

demo: runtime ## The same with traffic, made from the files in DIR if it is given
	@exec $(PY) manage.py run --demo $(if $(DIR),"$(DIR)")

test: development ## Run the tests in ten minutes; ARGS="-k redelivery" chooses
	@$(if $(findstring not browser,$(ARGS)),,$(PY) -m tests.tools.chromium)
	@$(BYTECODE) $(PY) -m pytest --dist worksteal $(foreach n,$(TESTERS),$(TESTER)) $(ARGS)

test-all: ## Run the thorough tests, too
	@$(MAKE) --no-print-directory test ARGS="-m 'not long' $(ARGS)"

versions: development ## Test each pair of Python and Django; ARGS="3.12-6.1" chooses
	@$(OWN_VAR) $(PY) -m tests.tools.versions $(ARGS)

lint: development ## Check style, layers, templates and migrations
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) .venv/bin/lint-imports
	$(PY) .venv/bin/lint-imports --no-logo --config tests/imports_at_run_time.toml
	.venv/bin/deptry .
	$(PY) -m djlint --quiet --lint templates
	$(PY) -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run

audit: development ## Check the pins for known vulnerabilities
	@told=$$(.venv/bin/pip-audit --progress-spinner off --disable-pip --no-deps \
	  -r requirements.txt -r requirements-dev.txt -r requirements-compiled.txt 2>&1) \
	  || failed=1; echo "$$told"; test -z "$$failed" \
	  || { echo "$$told" | grep -q "^requests\.exceptions\." && echo "$(AWAY)"; }

types: development ## Check the types
	$(PY) -m mypy broker console dashboards tests

bench: development ## Measure against the floor and other queues
	@$(OWN_VAR) $(PY) manage.py with_servers python -m tests.bench $(ARGS)

spec: development ## Show which rules of the specification are held by which tests
	@$(OWN_VAR) $(PY) manage.py with_servers python -m tests.spec $(ARGS)

docs: development ## Build the site of docs/ into var/site; a broken link is an error
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet
	@echo 'The documentation: var/site/index.html'

venv:
	@$(PY) -c 'import pip; $(RECENT)' 2>/dev/null || { \
	  command -v $(PYTHON) >/dev/null || { \
	    echo 'There is no $(PYTHON) here. Install Python 3.11 or newer, or say where' \
	      'it is: make run PYTHON=/path/to/python3.12.'; exit 1; }; \
	  $(PYTHON) -c '$(RECENT)' || { \
	    echo "Backout needs Python 3.11 or newer; this is $$($(PYTHON) --version 2>&1)." \
	      'Name another: make run PYTHON=python3.12.'; exit 1; }; \
	  rm -rf .venv; \
	  $(PYTHON) -m venv .venv || { \
	    echo 'The directory .venv could not be made; what Python said is above. On' \
	      'Debian and Ubuntu, install python3-venv.'; exit 1; }; }

# What was installed is kept as a copy, and compared: no work when nothing changed.
runtime: venv
	@$(PY) -c '$(SAME)' requirements.txt .venv/requirements.txt 2>/dev/null || { \
	  echo 'Installing the packages: minutes and a gigabyte, the first time.'; \
	  $(PIP) -r requirements.txt && cp requirements.txt .venv/requirements.txt; }

development: runtime
	@$(PY) -c '$(SAME)' requirements-dev.txt .venv/requirements-dev.txt 2>/dev/null || { \
	  echo 'Installing the packages for development.'; \
	  $(PIP) -r requirements-dev.txt && \
	  cp requirements-dev.txt .venv/requirements-dev.txt; }
	@$(PY) -c '$(SAME)' requirements-compiled.txt .venv/requirements-compiled.txt \
	  2>/dev/null || { $(PY) -c '$(COMPILES)' && $(PIP) -r requirements-compiled.txt && \
	  cp requirements-compiled.txt .venv/requirements-compiled.txt; } || \
	  echo 'The tests with the AMQP client python-qpid-proton are left out: it needs a C' \
	    'compiler and the headers of Python (on Debian: gcc and python3-dev).'
