# Fairlead. `make` prints the targets; `make up` and `make test` are all a newcomer needs.
PYTHON ?= python3
BIN := .venv/bin
ARGS ?=
# Two more than the cores of a small machine: many tests wait.
WORKERS ?= 4
# Python's bytecode is kept, and kept out of the tree: without it every start of a process takes half a second more.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/.venv/bytecode

.PHONY: help setup dev up quick test check docs coverage format soak bench clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The pins name everything that is needed, so pip resolves nothing (--no-deps): where a pinned package asks for another
# with extras, pip 23 looks beyond the pins, finds a newer release, and gives up.
setup: .venv/run.stamp ## make .venv with everything `fairlead` needs to run

dev: .venv/dev.stamp ## add what tests and checks need

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Fairlead needs Python 3.11 or newer; name one with PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv

.venv/run.stamp: requirements/build.txt requirements/run.txt pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/build.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/run.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	@touch $@

.venv/dev.stamp: requirements/dev.txt .venv/run.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/dev.txt
	@touch $@

up: setup ## run a plane with three nodes in the foreground; ARGS="--data-dir D --port N" passes options on
	@$(BIN)/fairlead up --nodes 3 --zones a,b $(ARGS)

quick: dev ## the unit and property tests nearest to what you changed, in under a minute
	$(BIN)/python -m tests.quick $(ARGS)

test: dev ## every test
	@$(BIN)/python -m tests.compiled
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not soak" $(ARGS)

coverage: dev ## what unit and property tests reach of the pure code; less than before fails
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n $(WORKERS) --dist worksteal -m "not soak" tests/unit tests/property
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

check: dev docs ## lint, format, types, layers, the documentation as a site
	$(BIN)/ruff check src tests bench docs examples
	$(BIN)/ruff format --check src tests bench docs examples
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: dev ## build the documentation as a site, in site/; a broken link fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

format: dev ## rewrite files in the one format
	$(BIN)/ruff check --fix src tests bench docs examples
	$(BIN)/ruff format src tests bench docs examples

soak: dev ## the long versions of what `make test` samples; go on where they were interrupted; ARGS="--seconds 540"
	$(BIN)/python -m bench.kills $(ARGS)
	$(BIN)/python -m bench.outage $(ARGS)
	$(BIN)/python -m bench.soak $(ARGS)
	$(BIN)/python -m bench.swarm $(ARGS)
	$(BIN)/python -m bench.zoo $(ARGS)
	$(BIN)/python -m bench.planning $(ARGS)
	$(BIN)/python -m bench.shrinking $(ARGS)
	FAIRLEAD_SOAK=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --timeout 3600

bench: dev ## measure the API next to the raw store and etcd; prints JSON
	$(BIN)/python bench/api.py --json

clean: ## remove what setup made
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage* site
