# Two commands are enough: make demo, make test. Everything else is for people who change the code.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# SUREPATH_STRICT=1 (set by .ci/run) turns every skipped test into a failure.
export SUREPATH_STRICT ?= 0

.PHONY: demo test lint types bench docs clean lock

$(VENV)/.core: pyproject.toml requirements/core.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/core.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/.dev: pyproject.toml requirements/dev.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	touch $@ $(VENV)/.core

demo: $(VENV)/.core
	$(BIN)/surepath demo

test: $(VENV)/.dev lint types
	$(BIN)/python tests/run.py

lint: $(VENV)/.dev
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples

types: $(VENV)/.dev
	$(BIN)/mypy

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

docs: $(VENV)/.dev
	$(BIN)/sphinx-build -W -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

# Pins with hashes and no addresses; needs uv on the path.
lock:
	uv pip compile -q --generate-hashes --no-emit-index-url --no-annotate --no-header --universal \
	  --python-version 3.11 requirements/core.in -o requirements/core.txt
	uv pip compile -q --generate-hashes --no-emit-index-url --no-annotate --no-header --universal \
	  --python-version 3.11 requirements/dev.in -o requirements/dev.txt

clean:
	rm -rf $(VENV) docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
