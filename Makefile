# One command each: make serve | make test | make check | make bench
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PORT   ?= 5006

.PHONY: setup serve test check audit bench browser docs examples constraints clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@PYTHON="$(PYTHON)" VENV="$(VENV)" sh tools/make-venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[test,dev,distributed]'
	@touch $@

serve: setup
	$(BIN)/calibdash serve example_data --port $(PORT)

browser:
	@sh tools/find-chromium

test: setup browser
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# Known faults of the pinned versions, in an environment of its own; what the package index has no advisories for is said.
audit:
	@PYTHON="$(PYTHON)" VENV="$(VENV)-audit" sh tools/make-venv
	$(VENV)-audit/bin/pip install --quiet pip-audit
	$(VENV)-audit/bin/pip-audit --no-deps --disable-pip --requirement constraints.txt

bench: setup
	$(BIN)/python -m benchmarks $(ARGS)

# Writes docs/reference.md as the code has it now.
docs: setup
	$(BIN)/python tools/reference.py

examples: setup
	$(BIN)/python example_data/make.py

# Writes the versions of a working .venv as the new pins.
constraints: setup
	$(BIN)/pip freeze --exclude-editable --exclude calibdash | sed 's/ @.*//' > constraints.txt

clean:
	rm -rf $(VENV) $(VENV)-audit build *.egg-info .pytest_cache .mypy_cache .ruff_cache
