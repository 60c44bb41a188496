# Two commands do all the set-up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed

.PHONY: demo test lint test-slow bench clean

demo: $(INSTALLED)
	$(BIN)/shoal demo

test: lint
	$(BIN)/pytest -m "not slow"

test-slow: $(INSTALLED)
	$(BIN)/pytest -m slow

lint: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(INSTALLED)
	$(BIN)/python -m bench

# One rule makes the environment; it runs again when pyproject.toml changes.
$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Shoal needs Python 3.11 or later; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || if [ "$$(id -u)" = 0 ]; then \
	  apt-get update -q && apt-get install -q -y python3-venv; else \
	  echo "Python's venv module is missing; install it with: apt-get install python3-venv"; exit 1; fi
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[demo,sklearn,stat]" --group dev
	@touch $@

clean:
	rm -rf .venv .numba_cache shoal-demo src/shoal/kernels/__pycache__
