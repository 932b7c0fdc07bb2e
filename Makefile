# Preference Arena: `make demo` shows it, `make test` proves it; each does its own set-up.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test check clean
# A recipe that fails leaves no stamp behind.
.DELETE_ON_ERROR:

help: ## Show what there is
	@echo "Preference Arena. Usage: make TARGET [PYTHON=python3.12] [ARGS=...]"
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  \1	\2/' | expand -t 10

demo: $(VENV)/.demo ## Open an arena on a small language model on this machine
	@$(BIN)/arena demo $(ARGS)

test: $(VENV)/.test $(VENV)/.browser ## Format check, lint, types, import contract and all tests
	@VENV=$(VENV) scripts/check $(ARGS)

check: $(VENV)/.test ## The same without browser, model, PostgreSQL and slow tests
	@VENV=$(VENV) scripts/check --fast $(ARGS)

clean: ## Remove the virtual environment; votes and the model file stay
	rm -rf $(VENV)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$(PYTHON) is missing or older than Python 3.11. Name another: make PYTHON=python3.12" >&2; exit 1; }
	@echo "Setting up $(VENV) …"
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "$(PYTHON) cannot make a virtual environment. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }

# An environment that came without pip gets one; pip itself needs no pinning.
$(VENV)/.pip: | $(BIN)/python
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip >/dev/null
	@touch $@

$(VENV)/.demo: pyproject.toml constraints.txt | $(VENV)/.pip
	@echo "Installing what the demo needs (once, about a minute) …"
	@$(INSTALL) -e '.[demo]'
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(VENV)/.pip
	@echo "Installing what the tests need (once, about a minute) …"
	@$(INSTALL) -e '.[demo,postgres,test]'
	@touch $@ $(VENV)/.demo

$(VENV)/.browser: | $(VENV)/.test
	@VENV=$(VENV) scripts/install-browser
	@touch $@
