# make run    fit friction and restitution to the embedded rebounds: a table, and a report in out/
# make test   lint, check types, build the documentation, run the quick tests
# make test-slow  run the slow tests
# make docs   build the documentation: out/docs/index.html
# make bench  measure time, error and memory of an impact beside other programs: out/bench/
# make reproduce  recompute the five papers: experiments/RESULTS.md, and figures in out/reproduce/
# make clean  remove what the other targets wrote, except the virtual environment

PYTHON ?= python3.11
OUT ?= out

VENV := .venv
BIN := $(VENV)/bin
CLI := $(VENV)/.installed-cli
BENCH := $(VENV)/.installed-bench
DOCS := $(VENV)/.installed-docs
TEST := $(VENV)/.installed-test
# A path in place of an import hook: else a script in the folder above would import the folder `jimpact` of the checkout.
COMPAT := --config-settings editable_mode=compat

.DELETE_ON_ERROR:
.PHONY: run test test-slow docs bench reproduce clean

run: $(CLI)
	$(BIN)/jimpact fit --out $(OUT)

test: $(TEST)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy jimpact
	$(BIN)/sphinx-build -q -W --keep-going docs $(OUT)/docs
	$(BIN)/pytest -m 'not slow' --numprocesses auto --dist loadfile --no-loadscope-reorder

test-slow: $(TEST)
	$(BIN)/pytest -m slow --numprocesses auto --dist loadfile --no-loadscope-reorder

docs: $(DOCS)
	$(BIN)/sphinx-build -W --keep-going docs $(OUT)/docs

bench: $(BENCH)
	$(BIN)/jimpact bench --out $(OUT)/bench

reproduce: $(CLI)
	$(BIN)/jimpact reproduce

clean:
	rm -rf $(OUT) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -path ./$(VENV) -prune -o -type d -name __pycache__ -exec rm -rf {} +

# The stamps are older than pyproject.toml when it changed; the install is editable, so nothing else asks for it.
$(CLI): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[cli]' $(COMPAT)
	touch $@

$(BENCH): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[cli,bench]' $(COMPAT)
	touch $@ $(CLI)

$(DOCS): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]' $(COMPAT)
	touch $@

$(TEST): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[test]' $(COMPAT)
	touch $@ $(CLI) $(DOCS)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
