# Each target is one command on a fresh machine that has python3 (3.10 or newer, with venv), a C++ compiler and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
CPP := $(shell find cpp -name '*.cpp' -o -name '*.h')
HARNESS := $(wildcard tests/native/*.cpp tests/native/*.h)
NATIVE := CMakeLists.txt $(CPP)
WORKERS ?= 2

.PHONY: install demo java minizinc chromium clang test check format docs sanitize fuzz fuzz-short fuzz-native bench-quick clean

install: $(INSTALLED) ## the package with everything it can use, editable, in .venv

$(VENV)/.created:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

# Editable: Python sources are used where they lie; only a change of what is compiled or required installs anew.
# constraints.txt is what keeps torch at the processor-only build. Compiled beforehand, the command starts in half the
# time also where Python is told to write no bytecode.
$(INSTALLED): $(VENV)/.created pyproject.toml constraints.txt $(NATIVE)
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable ".[all,dev,docs]"
	$(BIN)/python -c "from anycsp import native; assert native.available(), native.why_not()"
	$(BIN)/python -m compileall -q src
	touch $@

EXAMPLE := examples/planted3sat.cnf

# The network alone, so that the demonstration shows the shipped model and not the compiled local search.
demo: install ## solve an example with the shipped network and check the answer
	@mkdir -p build
	$(BIN)/anycsp info $(EXAMPLE)
	$(BIN)/anycsp solve $(EXAMPLE) --search neural --time-limit 30 | tee build/demo-answer.txt
	$(BIN)/anycsp check $(EXAMPLE) build/demo-answer.txt

# As root, or where sudo asks for no password, as on hosted runners.
APT := $(shell [ "$$(id -u)" = 0 ] || echo sudo -n) apt-get

# SolutionChecker, which confirms XCSP3 answers, needs Java; where it cannot be installed those tests are skipped.
java: ## a Java runtime for the tests of XCSP3, where it may be installed
	@command -v java >/dev/null || { $(APT) update -q && $(APT) install -y -q default-jre-headless; } \
	  || echo "no Java: the tests that need SolutionChecker are skipped"

# MiniZinc, and Gecode to check solutions with, which Debian has in the same package; where it cannot be installed the
# round trips are skipped.
minizinc: ## MiniZinc for the tests of fzn-anycsp, where it may be installed
	@command -v minizinc >/dev/null || { $(APT) update -q && $(APT) install -y -q minizinc; } \
	  || echo "no MiniZinc: the tests that need it are skipped"

# A browser for the tests of the page; where it cannot be installed those are skipped.
chromium: ## Chromium for the tests of anycsp serve, where it may be installed
	@command -v chromedriver >/dev/null || { $(APT) update -q && $(APT) install -y -q chromium chromium-driver; } \
	  || echo "no Chromium: the tests that need a browser are skipped"

# libFuzzer comes with clang where recommended packages are installed; where it cannot be, the native code is not fuzzed.
clang: ## clang with libFuzzer for make fuzz-native, where it may be installed
	@.ci/fuzz-native compiler >/dev/null || { $(APT) update -q && $(APT) install -y -q clang; } \
	  || echo "no clang: the native code is not fuzzed"

test: install java minizinc chromium clang ## all tests, the fast ones first
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow"
	$(BIN)/python -m pytest -n $(WORKERS) -m slow

check: install ## format, lint, types and the schema of hosted workflows; changes nothing
	$(BIN)/ruff format --check
	$(BIN)/clang-format --dry-run --Werror $(CPP) $(HARNESS)
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

format: install ## format the code and fix what the linter can
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(CPP) $(HARNESS)
	$(BIN)/ruff check --fix

# The documentation as a site, build/site/index.html; a broken link or an unknown name is an error.
docs: install ## the documentation as a site, in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The native module under AddressSanitizer and UndefinedBehaviorSanitizer, then its threads under ThreadSanitizer.
sanitize: install ## the tests of the native module under sanitizers
	.ci/sanitize $(BIN)/python

MINUTES ?= 10
FUZZ := OMP_NUM_THREADS=1 $(BIN)/python -m anycsp.fuzz

# A fresh seed every time; SEED=N repeats one. What fails is written to runs/fuzz, as small as it could be made.
fuzz: install ## random problems, broken files and models, faults, for MINUTES
	$(FUZZ) --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) --log runs/fuzz/campaigns.jsonl

fuzz-short: install ## the same for one minute, with a seed that every change has passed
	$(FUZZ) --minutes 1 --seed 22 --trials 3000

# Four targets share the MINUTES; what each has seen is kept in runs/fuzz-native and goes on from there.
fuzz-native: clang ## the native readers, families and searches guided by coverage, for MINUTES
	@.ci/fuzz-native $$(($(MINUTES) * 15)) $(SEED) || [ $$? = 77 ]

DATA ?= $(or $(ANYCSP_DATA),../shared/data)

# Continues where it was stopped. Report: runs/bench-quick/report.html.
bench-quick: install ## the paper's experiments in under half an hour, with a report
	$(BIN)/anycsp bench all --budget quick --data $(DATA) --models benchmarks/models --out runs/bench-quick
	$(BIN)/anycsp report runs/bench-quick

clean: ## remove the environment and everything built
	rm -rf $(VENV) build

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):.* ## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "make %-12s %s\n", $$1, $$2 }'
