# Everything a person does with this checkout. `make` alone lists it.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --quiet --constraint constraints.txt
PYTHON ?=
PYTEST_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast bench lint format typecheck clean FORCE

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "Choose another Python with PYTHON=python3.12; pass options to pytest with PYTEST_ARGS='-k easy'."

demo: $(VENV)/.stamp-run ## reschedule a synthetic job log under several policies, and find a better one: tables, pictures
	@$(BIN)/twin-gym demo

test: lint ## linters, type checks and all tests
	@$(BIN)/pytest $(PYTEST_ARGS)

test-fast: $(VENV)/.stamp-test ## the tests that take seconds, without linters
	@$(BIN)/pytest -m "not slow" $(PYTEST_ARGS)

bench: $(VENV)/.stamp-test ## measure speed and memory
	@set -e; for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script; done

lint: $(VENV)/.stamp-test typecheck ## ruff and mypy
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

format: $(VENV)/.stamp-test ## let ruff lay out the code and repair what it can
	@$(BIN)/ruff check --fix-only
	@$(BIN)/ruff format

# mypy can't see that envs/ is twin_gym.envs, so it gets a tree of links in which it is.
typecheck: $(VENV)/.stamp-test
	@rm -rf .typecheck && mkdir -p .typecheck/twin_gym
	@cd .typecheck/twin_gym && ln -s ../../twin_gym/* ../../envs ../../agents ../../conf ../../datasets .
	@cd .typecheck && ../$(BIN)/mypy --config-file ../pyproject.toml --cache-dir ../.mypy_cache -p twin_gym

clean: ## remove all that these commands made, but no results
	rm -rf $(VENV) .typecheck .mypy_cache .ruff_cache .pytest_cache .hypothesis .numba_cache build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Installation. Each stage leaves a stamp, so that the next call goes straight to work.

$(VENV)/.stamp-test: pyproject.toml constraints.txt $(VENV)/.stamp-venv
	@echo "Installing twin_gym, PyTorch and its test tools into $(VENV) (once; some minutes, some GB) ..."
	@$(PIP) torch
	@$(PIP) --editable '.[test]'
	@touch $@ $(VENV)/.stamp-run

$(VENV)/.stamp-run: pyproject.toml constraints.txt $(VENV)/.stamp-venv
	@echo "Installing twin_gym into $(VENV) (once; about a minute) ..."
	@$(PIP) --editable '.[evolve]'
	@touch $@

# A virtual environment holds absolute paths: one that came with a copied or moved checkout would run the old code.
ifneq ($(shell cat $(VENV)/.stamp-venv 2>/dev/null),$(CURDIR))
$(VENV)/.stamp-venv: FORCE
endif

$(VENV)/.stamp-venv:
	@python="$(PYTHON)"; \
	usable() { "$$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }; \
	for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do \
		if [ -z "$$python" ] && usable $$candidate; then python=$$candidate; fi; \
	done; \
	if [ -z "$$python" ] || ! usable "$$python"; then \
		found=$$("$${python:-python3}" --version 2>&1) || found="none"; \
		echo "twin_gym needs Python 3.11 or newer; found: $$found. Install one, or name it: make PYTHON=/path/to/python3.12 ..." >&2; \
		exit 1; \
	fi; \
	if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
		echo "$$python can't make virtual environments: install its venv module (Debian, Ubuntu: apt-get install python3-venv)." >&2; \
		exit 1; \
	fi; \
	echo "Making $(VENV) with $$("$$python" --version) ..."; \
	rm -rf $(VENV) && "$$python" -m venv $(VENV)
	@printf '%s\n' '$(CURDIR)' > $@
