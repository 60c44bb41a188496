# Two commands do all the set-up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed
COMPLETE := .venv/complete

.PHONY: demo test lint test-slow java bench clean

demo: $(INSTALLED)
	$(BIN)/shoal demo

test: lint java
	$(BIN)/pytest -m "not slow"

test-slow: $(COMPLETE) java
	$(BIN)/pytest -m slow

lint: $(COMPLETE)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# Spark is tested on a real session, which needs Java.
java:
	@command -v java >/dev/null || if [ "$$(id -u)" = 0 ]; then \
	  apt-get update -q && apt-get install -q -y default-jre-headless; else \
	  echo "Java is missing, which the tests of Spark need: apt-get install default-jre-headless"; exit 1; fi

bench: $(COMPLETE)
	$(BIN)/python -m bench

# One rule makes the environment, another adds what only tests need; they run again when pyproject.toml changes.
$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Shoal needs Python 3.11 or later; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || if [ "$$(id -u)" = 0 ]; then \
	  apt-get update -q && apt-get install -q -y python3-venv; else \
	  echo "Python's venv module is missing; install it with: apt-get install python3-venv"; exit 1; fi
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[demo]"
	@touch $@

$(COMPLETE): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --editable ".[bounds,demo,report,sklearn,spark,stat]" --group dev
	@touch $@

clean:
	rm -rf .venv .numba_cache shoal-demo src/shoal/kernels/__pycache__
