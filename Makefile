# Every command a developer needs. `make demo` and `make test` need nothing but Python, git and make.
PYTHON ?= python3
BIN := .venv/bin

# Where the servers of `make services` are, for tests.
-include .services/env
export PERDURE_TEST_MARIADB PERDURE_TEST_POSTGRES PERDURE_TEST_MILVUS PERDURE_TEST_KAFKA
# The suite starts many processes; without kept bytecode each would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint types bench serve services services-stop lock docs clean

# Play the main job, in a throw-away database.
demo: .venv/.run
	$(BIN)/perdure demo

# Run the whole suite. Tests that need a server which is not there are skipped and say how to start it.
test: .venv/.dev
	$(BIN)/python -m pytest

# Check style and that imports point down.
lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

# Check types.
types: .venv/.dev
	$(BIN)/mypy

# Measure speed as ratios; quality needs public data, see bench/README.md.
bench: .venv/.dev
	$(BIN)/python bench/capture.py
	$(BIN)/python bench/recall.py
	$(BIN)/python bench/learning.py --quick
	$(BIN)/python bench/extraction/run.py --check
	$(BIN)/python bench/screen/run.py --check

# Start the service on loopback.
serve: .venv/.run
	$(BIN)/perdure serve

# Start the servers that some tests need, on loopback; only=mariadb starts one.
services:
	$(PYTHON) deploy/services.py start $(only)

# End them, and nothing else.
services-stop:
	$(PYTHON) deploy/services.py stop $(only)

# Write the reference tables anew from the code.
docs: .venv/.dev
	$(BIN)/python docs/reference/make.py

# Write the lock anew: versions and hashes only, no addresses.
lock: .venv/.made
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "uv>=0.13,<0.14"
	$(BIN)/uv export --quiet --no-emit-project --no-dev --no-annotate --no-header --output-file requirements.lock
	$(BIN)/uv export --quiet --no-emit-project --only-dev --no-annotate --no-header --output-file requirements-dev.lock
	$(BIN)/uv export --quiet --no-emit-project --only-group services --no-annotate --no-header --output-file requirements-services.lock

# Remove what the commands above made.
clean:
	rm -rf .venv build dist out .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.venv/.made:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25"
	touch $@

.venv/.run: .venv/.made requirements.lock pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

.venv/.dev: .venv/.run requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	touch $@
