# Two commands do all the set-up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CREATED := $(VENV)/created
INSTALLED := $(VENV)/installed
COMPLETE := $(VENV)/complete
BUILD := build/kernels
KERNELS := $(BUILD)/built
# scikit-build-core's import hook comes before PYTHONPATH, so that sanitized kernels and other worktrees would not be
# the ones that run: a plain path in its place.
PLAIN_PATH = for path in $(VENV)/lib/python3*/site-packages/*shoal*.pth; do echo "$(abspath src)" >"$$path"; done
CORE := not slow and not app and not browser and not docs and not faults and not file and not fuzz \
  and not processes and not spark

.PHONY: demo kernels wheel sanitize test suite lint test-core test-slow docs java chromium bench fuzz test-minimum audit sbom clean

demo: $(INSTALLED)
	$(BIN)/shoal demo

# The compiled kernels, built in place, so that `PYTHONPATH=src` finds them. A worktree may use the tools of another
# environment: make kernels VENV=../main/.venv
kernels: $(KERNELS)

# The linters and the tests run side by side: both must pass.
test: $(COMPLETE) java chromium
	$(MAKE) --jobs=2 lint suite

# Neighbouring tests stay together, so that most sessions of Spark and servers of the page are started once.
suite: $(COMPLETE) java chromium
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"

# What needs neither Java, nor a browser, nor other processes: some two minutes on two cores.
test-core: $(COMPLETE)
	$(BIN)/pytest -n 2 -m "$(CORE)"

test-slow: $(COMPLETE) java chromium sanitize
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/pytest -m slow

# The kernels once more, built so that reads and writes outside of arrays, undefined behaviour and races are errors.
sanitize: TESTED = -m pytest -q --capture=sys -p no:cacheprovider
sanitize: $(COMPLETE)
	tools/sanitize.sh $(BIN) address,undefined $(TESTED) -m "not slow" tests/kernels tests/golden tests/fuzz
	tools/sanitize.sh $(BIN) thread $(TESTED) tests/kernels/test_threads.py tests/test_parallel.py

# The site is built from nothing, and every warning is an error.
docs: $(COMPLETE)
	$(BIN)/sphinx-build -E -W --keep-going -q -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

lint: $(COMPLETE)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/codespell
	$(BIN)/python tools/voice.py
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/size.py --check

# Spark is tested on a real session, which needs Java.
java:
	@command -v java >/dev/null || if [ "$$(id -u)" = 0 ]; then \
	  apt-get update -q && apt-get install -q -y default-jre-headless; else \
	  echo "Java is missing, which the tests of Spark need: apt-get install default-jre-headless"; exit 1; fi

# The page is tested in a real browser; without one those tests are skipped, saying so.
chromium:
	@command -v chromium >/dev/null || if [ "$$(id -u)" = 0 ]; then \
	  apt-get update -q && apt-get install -q -y --no-install-recommends chromium; else \
	  echo "chromium is missing, so the tests of the page are skipped: apt-get install chromium"; fi

# What installs without a compiler, and the source archive, dated by the last commit; then their contents are checked.
wheel: $(COMPLETE)
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python tools/wheel.py dist >build/wheel.log || { cat build/wheel.log; exit 1; }
	@ls dist
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/pytest tests/test_wheel.py

bench: $(COMPLETE)
	$(BIN)/python -m bench

# Long: ten minutes a target, then releases are counted, some ten a second and core (make fuzz RELEASES=1000 for fewer). What fails is kept in fuzz-finds/. A short run of some targets is part of the tests, of all part of the slow ones.
fuzz: RELEASES = 100000
fuzz: $(COMPLETE)
	$(BIN)/python -m fuzz --seconds 600
	$(BIN)/python -m fuzz --releases $(RELEASES) --spark 100 --seconds 86400 --coverage

# The lowest versions that pyproject.toml allows, in an environment of their own: every extra is used at least once.
test-minimum: $(COMPLETE) java
	$(PYTHON) -m venv --clear .venv-minimum
	.venv-minimum/bin/pip install --quiet $$($(BIN)/python tools/minimum.py)
	.venv-minimum/bin/pip install --quiet --no-deps --editable .
	.venv-minimum/bin/pytest -m "not slow" \
	  tests/golden tests/test_release.py tests/test_estimator.py tests/test_notebook.py tests/cli/test_cli.py \
	  tests/tables/test_formats.py tests/tables/test_frames.py tests/tables/test_excel.py tests/tables/test_statistics.py \
	  tests/partitioning/test_bounds.py tests/evidence/test_analyses.py tests/report/test_reports.py \
	  tests/backends/test_file.py tests/backends/test_spark.py tests/backends/test_spark_roles.py \
	  tests/app/test_command.py tests/app/test_pages.py tests/app/test_endpoints.py

# Known vulnerabilities, and the bill of materials; what looks for them does not belong into the environment that is looked at.
# Without a network, in a database on this disk: make audit DATABASE=all.zip
audit: $(COMPLETE)
ifdef DATABASE
	$(BIN)/python tools/audit.py $(DATABASE)
else
	$(PYTHON) -m venv .venv-audit
	.venv-audit/bin/pip install --quiet pip-audit
	.venv-audit/bin/pip-audit --strict --disable-pip --require-hashes --requirement constraints.txt
endif

sbom: $(COMPLETE)
	$(PYTHON) -m venv .venv-audit
	.venv-audit/bin/pip install --quiet cyclonedx-bom
	$(BIN)/python tools/sbom.py .venv-audit/bin/cyclonedx-py sbom.cdx.json

# One rule makes the environment, the others fill it, each in one run of pip: with what a user has, or with all that
# tests need. They run again when pyproject.toml changes. Python writes the byte code of a module when it is first
# imported: pip would do so for all that is installed.
$(CREATED):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Shoal needs Python 3.11 or later; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || if [ "$$(id -u)" = 0 ]; then \
	  apt-get update -q && apt-get install -q -y python3-venv; else \
	  echo "Python's venv module is missing; install it with: apt-get install python3-venv"; exit 1; fi
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@touch $@

# cmake, ninja and nanobind come with pip; the compiler is the only thing that must be on the machine.
$(KERNELS): CMakeLists.txt $(wildcard src/shoal/kernels/cpp/*) $(CREATED)
	@command -v c++ >/dev/null || if [ "$$(id -u)" = 0 ]; then \
	  apt-get update -q && apt-get install -q -y --no-install-recommends g++; else \
	  echo "A C++ compiler is missing, which builds the kernels; install it with: apt-get install g++"; exit 1; fi
	$(BIN)/python -m pip install --quiet --group build
	$(BIN)/cmake -S . -B $(BUILD) -G Ninja --log-level=WARNING -DCMAKE_BUILD_TYPE=Release \
	  -DPython_EXECUTABLE=$(abspath $(BIN))/python -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja
	$(BIN)/cmake --build $(BUILD) -- --quiet
	$(BIN)/cmake --install $(BUILD) --prefix src >$(BUILD)/installed.log
	@touch $@

$(INSTALLED): pyproject.toml | $(KERNELS)
	$(BIN)/python -m pip install --quiet --no-compile --editable ".[demo,report]"
	@$(PLAIN_PATH)
	@touch $@

$(COMPLETE): pyproject.toml | $(KERNELS)
	$(BIN)/python -m pip install --quiet --no-compile --editable ".[all]" --group dev
	@$(PLAIN_PATH)
	@touch $(INSTALLED) $@

clean:
	rm -rf build src/shoal/kernels/_native.* .venv .venv-minimum .venv-audit docs/_build shoal-demo
