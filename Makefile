# Two commands are enough: make demo, make test. Everything else is for people who change the code.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Bytecode is written when a module is first imported: compiling all of it takes half of an installation.
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# SUREPATH_STRICT=1 (set by .ci/run) turns every skipped test into a failure.
export SUREPATH_STRICT ?= 0

.PHONY: demo test check-all lint types bench docs release-check clean lock system postgres chromium proxies
.DELETE_ON_ERROR:

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "surepath needs Python 3.11 or newer; name one with make PYTHON=..."; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null \
	  || { echo "python3 lacks its venv module, a system package: calling make system"; \
	       $(MAKE) --no-print-directory system SYSTEM=python3-venv; }
	$(PYTHON) -m venv $(VENV)

# The only target that installs system packages; the others call it when something is missing, and say so.
# Debian ships venv apart from python3. The tests of studies run against a PostgreSQL server of their own,
# those of the page in a browser, those of the server behind nginx and pgbouncer.
SYSTEM := python3-venv postgresql chromium nginx pgbouncer
POSTGRES := /usr/lib/postgresql/*/bin/initdb
INITDB := initdb
system:
	@test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	  || { echo "system packages need root and apt-get; install these yourself: $(SYSTEM)"; exit 1; }
	@echo "installing system packages: $(SYSTEM)"
	apt-get -qq update && apt-get -qq install -y $(SYSTEM) >/dev/null

$(VENV)/.core: pyproject.toml requirements/core.txt | $(BIN)/python
	$(PIP) --require-hashes -r requirements/core.txt
	$(PIP) --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/.dev: pyproject.toml requirements/dev.txt | $(BIN)/python
	$(PIP) --require-hashes -r requirements/dev.txt
	$(PIP) --no-deps --no-build-isolation -e .
	touch $@ $(VENV)/.core

# Nothing is imported from the working directory.
demo: export PYTHONSAFEPATH = 1
demo: $(VENV)/.core
	$(BIN)/surepath demo --study surepath-demo.db

test: $(VENV)/.dev lint types postgres chromium proxies
	$(BIN)/python tests/run.py

# What is slow and rarely breaks: the suite without the compiler, lowest versions, other installs, large failure rates.
check-all: $(VENV)/.dev postgres chromium proxies
	$(BIN)/python tests/run.py --all

postgres:
	@ls $(POSTGRES) >/dev/null 2>&1 || command -v $(INITDB) >/dev/null \
	  || { echo "PostgreSQL is missing, a system package: calling make system"; \
	       $(MAKE) --no-print-directory system SYSTEM=postgresql; }

chromium:
	@command -v chromium >/dev/null || { echo "Chromium is missing, a system package: calling make system"; \
	  $(MAKE) --no-print-directory system SYSTEM=chromium; }

proxies:
	@for name in nginx pgbouncer; do command -v $$name >/dev/null || test -x /usr/sbin/$$name \
	  || { echo "$$name is missing, a system package: calling make system"; \
	       $(MAKE) --no-print-directory system SYSTEM=$$name; } || exit 1; done

lint: $(VENV)/.dev
	$(BIN)/ruff check src tests benchmarks examples docs
	$(BIN)/ruff format --check src tests benchmarks examples docs

types: $(VENV)/.dev
	$(BIN)/mypy

bench: $(VENV)/.dev postgres proxies
	$(BIN)/python -m benchmarks

docs: $(VENV)/.dev
	$(BIN)/sphinx-build -W -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

# The sdist and the wheel, each installed in an empty environment outside of this folder and used there; some minutes.
release-check: $(VENV)/.dev postgres
	$(BIN)/python -m tests.release_check

# Pins with hashes and no addresses; needs uv on the path.
lock:
	uv pip compile -q --generate-hashes --no-emit-index-url --no-annotate --no-header --universal \
	  --python-version 3.11 requirements/core.in -o requirements/core.txt
	uv pip compile -q --generate-hashes --no-emit-index-url --no-annotate --no-header --universal \
	  --python-version 3.11 requirements/dev.in -o requirements/dev.txt
	uv pip compile -q --generate-hashes --no-emit-index-url --no-annotate --no-header --universal \
	  --python-version 3.11 requirements/dspy.in -o requirements/dspy.txt
	uv pip compile -q --generate-hashes --no-emit-index-url --no-annotate --no-header --resolution lowest-direct \
	  --python-version 3.11 requirements/lowest.in -o requirements/lowest.txt

clean:
	rm -rf $(VENV) docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
