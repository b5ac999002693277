# Each target does its own set-up in .venv; nothing is installed twice.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test test-full fuzz check fix bench bench-faults bench-summon bench-code docs deps test-real test-oracle clean

$(VENV)/.made:
	$(PYTHON) -c 'import sys; sys.exit("Roundtable needs Python 3.11 or newer.") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.local: pyproject.toml | $(VENV)/.made
	@echo "Installing Roundtable and what it needs into $(VENV), once; this may take a minute."
	@$(BIN)/pip install --quiet --editable '.[local]'
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.made
	@echo "Installing Roundtable and what its checks need into $(VENV), once; this may take some minutes."
	@$(BIN)/pip install --quiet --editable '.[local,dev]'
	touch $@ $(VENV)/.local

demo: $(VENV)/.local  ## A real deliberation on embedded models: no key, no account
	@$(BIN)/python -m roundtable demo

test: deps check  ## What CI runs: every check, every test, and a sample of the long suites
	$(BIN)/pytest -n 4

test-full: deps check  ## Every check and every test: the long suites complete
	ROUNDTABLE_TESTS=full $(BIN)/pytest -n 4

fuzz: $(VENV)/.dev  ## Hostile texts for every reader of untrusted text, for ten minutes; ARGS="--seed 1 --seconds 60"
	$(BIN)/python -m tests.fuzz $(ARGS)

check: $(VENV)/.dev  ## Style, types, import contracts, spelling, outdated docs
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/typos
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python docs/generate.py --check

fix: $(VENV)/.dev  ## Apply the automatic fixes of the tools
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/.dev  ## Speed and memory against raw httpx2, LangGraph and AutoGen
	$(BIN)/python bench/run.py

bench-faults: $(VENV)/.dev  ## One failing seat of three, against LangGraph, AutoGen and llm-council-core; four minutes
	$(BIN)/python -m bench.faults

bench-summon: $(VENV)/.dev  ## How soon `summon` has its prompt on 5,000 files, against git alone
	$(BIN)/python -m bench.summon

bench-code: deps $(VENV)/.dev  ## Choosing code by running it, against dual execution agreement; ten minutes on two cores
	$(BIN)/python -m bench.coding

docs: $(VENV)/.dev  ## Regenerate the generated parts of docs/
	$(BIN)/python docs/generate.py

build/litellm/.made:
	$(PYTHON) -m venv build/litellm
	build/litellm/bin/pip install --quiet 'litellm[proxy]==1.106.2'
	touch $@

AGENTS := @anthropic-ai/claude-code@2.1.197 @google/gemini-cli@0.61.0 @openai/codex@0.166.0 opencode-ai@1.18.33 \
    @agentclientprotocol/claude-agent-acp@0.49.0
ALONE := tests/real/test_agents.py tests/real/test_acp.py tests/real/test_callers.py tests/real/test_doctor_faults.py tests/real/test_agent_editing.py \
    tests/real/test_mixed_table.py

build/agents/.made: Makefile
	npm install --prefix build/agents --cache build/npm-cache --no-fund --no-audit $(AGENTS)
	touch $@

ENGINES := dockerd:docker.io busybox:busybox-static

test-real: $(VENV)/.dev build/litellm/.made build/agents/.made  ## Tests with real models, agents and container engines; downloads them first
	@for engine in $(ENGINES); do PATH=$$PATH:/usr/sbin command -v $${engine%%:*} >/dev/null || ./.ci/apt $${engine##*:}; done
	$(BIN)/python -m roundtable models get smollm2-135m qwen2.5-coder-1.5b
	$(BIN)/pytest -m real $(ALONE:%=--ignore %)
	unshare --map-root-user --net sh -c 'ip link set lo up && exec $(BIN)/pytest -m real $(ALONE)'

test-oracle: $(VENV)/.dev  ## Voting against pref_voting on thousands of profiles; installs 750 MB
	$(PYTHON) -m venv build/oracle
	build/oracle/bin/pip install --quiet pref_voting pytest pytest-asyncio hypothesis --editable .
	build/oracle/bin/pytest -m oracle

deps:  ## Install from apt what is missing: bubblewrap, the sandbox for checks
	@command -v bwrap >/dev/null || ./.ci/apt bubblewrap

clean:
	rm -rf $(VENV) build
