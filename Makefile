# One entry point. Nothing here needs root; after `make setup apache` nothing needs a network.
#   make lab     opens JupyterLab on the first notebook          make demo    three brokers, real flights, a crash, Spark
#   make test    every test, notebooks included                  make judge   the same tests' long half on Apache Kafka
#   make soak    the simulator for hours, into its ledger
# `make help` lists all.

VENV ?= $(if $(filter minikafka,$(CONDA_DEFAULT_ENV)),$(CONDA_PREFIX),.venv)
PY   := $(VENV)/bin/python
ARGS ?=
JOBS ?= 2
SEEDS ?= 1000
FROM ?= 0

.DEFAULT_GOAL := help
.PHONY: help setup lock lab labs test judge soak apache demo doctor lint clean distclean

help:  ## this list
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:  ## .venv with the locked versions (done once; the others call it)
	@tools/setup.sh $(VENV)

lab: setup  ## JupyterLab, opened on the first notebook (ARGS="--no-browser", LAB=00)
	@$(PY) -m minikafka.lab $(LAB) $(ARGS)

test: setup  ## every test: our engine, a fast part on Apache Kafka, the notebooks (ARGS="-k log", JOBS=0: one after the other)
	@$(PY) -m minikafka jars --if-online
	@$(PY) -m pytest -n $(JOBS) -m "not judge" $(ARGS)

judge: apache  ## the long half: every client-facing test, and the solved notebooks, on Apache Kafka itself
	@MINIKAFKA_ENGINE=apache $(PY) -m pytest -n $(JOBS) -m judge tests solutions $(ARGS)

soak: setup  ## the simulator for longer: SEEDS=1000 clusters and ten times as many quorums, into the ledger (FROM=0)
	@$(PY) -m minikafka sim run --raft --ledger --from $(FROM)0 --seeds $(SEEDS)0
	@$(PY) -m minikafka sim run --ledger --from $(FROM) --seeds $(SEEDS)
	@$(PY) tools/sim_lines.py

apache: setup  ## fetch Apache Kafka and Spark's Kafka connector, once (56 MB and 10 MB; `make test` does it too)
	@$(PY) -m minikafka jars

demo: setup  ## the whole pipeline on real flights, with a crash in the middle (ARGS="--json")
	@$(PY) -m minikafka demo $(ARGS)

doctor: setup  ## versions, Java, ports, jars, and what to do about what is missing
	@$(PY) -m minikafka doctor

labs: setup  ## notebooks from solutions/source/: labs/ and solutions/ (LAB=06; RUN=1 runs the solved one, keeps its outputs)
	@$(PY) tools/labs.py $(LAB) $(if $(RUN),--run) $(ARGS)

lint: setup  ## the laws of the house, and ruff
	@$(PY) -m pytest -q tests/test_laws.py tests/setup/test_lock.py $(ARGS)
	@$(PY) -m ruff check minikafka tools tests

lock: setup  ## make requirements.lock and environment.yml anew from requirements.in (needs uv and a network)
	@$(PY) tools/lock.py

clean:  ## what tests and notebooks leave behind
	@rm -rf .pytest_cache .ruff_cache .hypothesis build *.egg-info spark-warehouse metastore_db derby.log
	@find . -path ./.venv -prune -o -path ./.git -prune -o \( -name __pycache__ -o -name .ipynb_checkpoints \) -type d -print | xargs rm -rf

distclean: clean  ## that, and .venv
	@rm -rf .venv
