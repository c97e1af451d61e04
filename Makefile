# make demo        sets up an environment, runs the pipeline on the embedded treebank, prints the table, names a page
# make reproduce   the same on a real treebank: CORPUS=nltk:treebank, craft:PATH, wsj:DIR, a file, a folder
#                  (MAX_LENGTH=40 TEST_FRACTION=0.1 JOBS=1; SPLIT_SEED=1 ENCODING=latin-1 ON_ERROR=skip
#                  FUNCTIONS=before:+ LABEL_MAP=FILE BUILD=build)
# make table1, figure2, simaan, figures-of-merit, dop, split-merge, beyond-recall, prefixes, palindromes, calibration
#                  a paper's experiment on the embedded treebank, or CORPUS=nltk:treebank OPTIONS="--max-length 15"
# make natural-stories OPTIONS="--stories PATH"
#                  the same on reading times
# make shell       a shell in which mbrparse, and the environment's python, are commands
# make test        sets up an environment and passes the tests, but for the long ones
# make test-long   the long ones, and all properties with eight times as many examples, drawn anew
# make lint        formatting, lint, types, import contracts
# make docs        README and docs as a site with search and the Python interface, in build/site
# make fuzz        mutated inputs of every kind: SECONDS=600 SEED=1 [INPUTS=100000]
# make soak        signals at random instants of every long command, resumed: SHOTS=200 SEED=1
# make oracle      random grammars beside the enumeration of all trees: SECONDS=600 SEED=1
# make bench       speed, as ratios within one run (QUICK=1: in minutes), tables and plots in build/bench
# make clean       removes build/ (make distclean: the environment too)

PYTHON ?= python3
CORPUS ?= nltk:treebank
MAX_LENGTH ?= 40
TEST_FRACTION ?= 0.1
JOBS ?= 1
BUILD ?= build

VENV := .venv
BIN := $(VENV)/bin
MBRPARSE := $(BIN)/mbrparse

# One folder for each corpus and setting, so that no run takes another's files for its own.
name = $(subst /,_,$(subst :,-,$(CORPUS)))-$(MAX_LENGTH)
fraction = $(if $(filter-out 0.1,$(TEST_FRACTION)),-$(TEST_FRACTION))
others = $(subst /,_,$(subst :,-,$(FUNCTIONS:%=-%)$(LABEL_MAP:%=-%)))
RUN = $(BUILD)/reproduce/$(name)$(fraction)$(SPLIT_SEED:%=-seed-%)$(ON_ERROR:%=-%)$(others)

.PHONY: demo shell reproduce test test-long lint bench clean distclean
.DELETE_ON_ERROR:

demo:
	@echo 'To call mbrparse yourself: . $(BIN)/activate (in bash or zsh), or make shell' >&2
	@$(MAKE) --no-print-directory reproduce CORPUS=embedded:flights

shell: $(VENV)/installed
	@. $(BIN)/activate && exec "$${SHELL:-/bin/sh}"

# What is finished of an earlier run is not done again (see mbrparse reproduce --help).
reproduce: $(VENV)/installed
	@mkdir -p $(BUILD)/reproduce
	@$(MBRPARSE) reproduce "$(CORPUS)" -o $(RUN) --jobs $(JOBS) --max-length $(MAX_LENGTH) \
	    --test-fraction $(TEST_FRACTION) $(SPLIT_SEED:%=--seed %) $(ENCODING:%=--encoding %) \
	    $(ON_ERROR:%=--on-error %) $(FUNCTIONS:%=--functions "%") $(LABEL_MAP:%=--label-map "%")

# The papers' experiments, each a script that goes on where it was (python papers/NAME.py --help): on the embedded
# treebank, or CORPUS=nltk:treebank, with OPTIONS="--max-length 15".
given = $(filter-out file,$(origin $(1)))
PAPER_CORPUS = $(if $(call given,CORPUS),$(CORPUS),embedded:flights)
paper = $(BIN)/python papers/$(1).py "$(PAPER_CORPUS)" --jobs $(JOBS) $(OPTIONS) \
    -o $(BUILD)/$(1)-$(subst /,_,$(subst :,-,$(PAPER_CORPUS)))

.PHONY: table1 figure2 simaan figures-of-merit dop split-merge beyond-recall prefixes palindromes calibration natural-stories
table1 figure2: $(VENV)/installed
	$(call paper,goodman1996_table1)
simaan: $(VENV)/installed
	$(call paper,simaan2003)
figures-of-merit: $(VENV)/installed
	$(call paper,caraballo1998)
dop: $(VENV)/installed
	$(call paper,dop1996)
split-merge: $(VENV)/installed
	$(call paper,split_merge)
beyond-recall prefixes calibration: $(VENV)/installed
	$(call paper,$(subst -,_,$@))
natural-stories: $(VENV)/installed
	$(call paper,natural_stories)
palindromes: $(VENV)/installed
	$(BIN)/python papers/pereira_schabes1992.py palindromes --jobs $(JOBS) $(OPTIONS) -o $(BUILD)/palindromes

test: $(VENV)/installed-dev
	$(BIN)/python tests/compile_kernels.py
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not long"

test-long: $(VENV)/installed-dev
	$(BIN)/python tests/compile_kernels.py
	$(BIN)/python -m pytest -n auto --dist worksteal -m "long or hypothesis" --hypothesis-profile=long

lint: $(VENV)/installed-dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/installed-dev
	$(BIN)/python benchmarks/charts.py $(if $(call given,CORPUS),--corpus $(CORPUS)) $(if $(QUICK),--quick)
	$(BIN)/python benchmarks/reestimation.py
	$(BIN)/python benchmarks/grammar_space.py $(if $(QUICK),--sentences 10 --repetitions 1)
	$(BIN)/python benchmarks/lengths.py $(if $(call given,CORPUS),--corpus $(CORPUS)) $(if $(QUICK),--quick)
	$(BIN)/python benchmarks/best_first.py $(if $(call given,CORPUS),$(CORPUS),nltk:treebank) $(if $(QUICK),5)
	$(BIN)/python benchmarks/pruning.py $(if $(QUICK),--sentences 20)
	$(BIN)/python benchmarks/growth.py $(if $(call given,CORPUS),--corpus $(CORPUS)) $(if $(QUICK),--quick)
	$(BIN)/python benchmarks/prefixes.py $(if $(call given,CORPUS),--corpus $(CORPUS)) $(if $(QUICK),--repetitions 3)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "mbrparse needs Python 3.11 or later: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/installed-dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/installed

$(VENV)/installed-docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

# A link that leads nowhere, or a name that is not there, is an error (but not with --quiet, which counts no warnings).
.PHONY: docs
docs: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

clean:
	rm -rf build dist

distclean: clean
	rm -rf $(VENV)

SECONDS ?= 600
SHOTS ?= 200
SEED ?= 1

.PHONY: fuzz soak oracle
fuzz: $(VENV)/installed-dev
	$(BIN)/python tests/fuzz/fuzz.py --seconds $(SECONDS) --seed $(SEED) $(INPUTS:%=--inputs %)

soak: $(VENV)/installed-dev
	$(BIN)/python tests/fuzz/soak.py --shots $(SHOTS) --seed $(SEED)

oracle: $(VENV)/installed-dev
	$(BIN)/python tests/fuzz/oracle.py --seconds $(SECONDS) --seed $(SEED)
