# Each target is one command on a fresh machine that has python3 (3.10 or newer, with venv), a C++ compiler and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
NATIVE := CMakeLists.txt $(shell find cpp -name '*.cpp' -o -name '*.h')
WORKERS ?= 2

.PHONY: install demo java test check format docs sanitize bench-quick clean

install: $(INSTALLED)

$(VENV)/.created:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

# Editable: Python sources are used where they lie; only a change of what is compiled or required installs anew.
# constraints.txt is what keeps torch at the processor-only build.
$(INSTALLED): $(VENV)/.created pyproject.toml constraints.txt $(NATIVE)
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable ".[all,dev,docs]"
	$(BIN)/python -c "from anycsp import native; assert native.available(), native.why_not()"
	touch $@

EXAMPLE := examples/planted3sat.cnf

# The network alone, so that the demonstration shows the shipped model and not the compiled local search.
demo: install
	@mkdir -p build
	$(BIN)/anycsp info $(EXAMPLE)
	$(BIN)/anycsp solve $(EXAMPLE) --search neural --time-limit 30 | tee build/demo-answer.txt
	$(BIN)/anycsp check $(EXAMPLE) build/demo-answer.txt

# SolutionChecker, which confirms XCSP3 answers, needs Java; where it cannot be installed those tests are skipped.
java:
	@command -v java >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get install -y -q default-jre-headless; } \
	  || echo "no Java: the tests that need SolutionChecker are skipped"

test: install java
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow"
	$(BIN)/python -m pytest -n $(WORKERS) -m slow

check: install
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

format: install
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

# The documentation as a site, build/site/index.html; a broken link or an unknown name is an error.
docs: install
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The native module under AddressSanitizer and UndefinedBehaviorSanitizer, then its threads under ThreadSanitizer.
sanitize: install
	.ci/sanitize $(BIN)/python

DATA ?= $(or $(ANYCSP_DATA),../shared/data)

# The paper's experiments in under half an hour; continues where it was stopped. Report: runs/bench-quick/report.html.
bench-quick: install
	$(BIN)/anycsp bench all --budget quick --data $(DATA) --models benchmarks/models --out runs/bench-quick
	$(BIN)/anycsp report runs/bench-quick

clean:
	rm -rf $(VENV) build
