# One entry point. Nothing here needs root; after `make setup apache` nothing needs a network.
#   make lab     opens JupyterLab on the first notebook          make demo    three brokers, real flights, a crash, Spark
#   make quick   before each commit: units, laws, stories       make test    every test, notebooks included
#   make judge   the same tests on Apache Kafka                  make soak    what is heavy, and the simulator for hours
# `make help` lists all.

VENV ?= $(if $(filter minikafka,$(CONDA_DEFAULT_ENV)),$(CONDA_PREFIX),.venv)
PY   := $(VENV)/bin/python
ARGS ?=
JOBS ?= 5# workers: one of them mostly waits for Spark (tests/schedule.py), and many tests wait, so five keep two cores busy
JUDGES ?= 4# workers of `make judge`: each has three brokers of Apache Kafka, and waits for them two thirds of its time
SEEDS ?= 1000
FROM ?= 80000

PYTEST := $(PY) -m pytest -p tests.light
# What was meant for another Python ends here, before ours starts; minikafka/machine/environment.py has the rule, and says the names.
OTHERS := $(filter-out PYTHON_% PYTHONUNBUFFERED PYTHONHASHSEED PYTHONPYCACHEPREFIX PYTHONFAULTHANDLER PYTHONDONTWRITEBYTECODE,$(filter PYTHON%,$(.VARIABLES)))
export MINIKAFKA_UNSAID := $(OTHERS)
# Tests start hundreds of processes (brokers, kernels): with the last of these each would compile all that it imports.
unexport $(OTHERS) PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup lock lab play labs site browser student-copy quick test proof long judge soak apache demo doctor lint clean distclean

help:  ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:  ## .venv with the locked versions (done once; the others call it)
	@tools/setup.sh $(VENV)

lab: setup  ## JupyterLab, opened on the first notebook (ARGS="--no-browser", LAB=00)
	@$(PY) -m minikafka.lab $(LAB) $(ARGS)

play: setup  ## JupyterLab, opened on the playground: a cluster, its picture, traffic with sliders (ARGS="--no-browser")
	@$(PY) -m minikafka.lab playground $(ARGS)

quick: setup  ## before each commit: units, laws, scenarios and stories, one live broker (ARGS="-k log")
	@$(PYTEST) -q -n 2 --quick tests $(ARGS)

test: setup  ## the tests, on our brokers, and the notebooks (ARGS="-k log", JOBS=0: one after the other)
	@$(PY) -m minikafka jars --if-online
	@$(PYTEST) -n $(JOBS) -m "not judge and not soak and not proof" $(ARGS)

proof: setup  ## seeds and nights of the simulator, a real browser, the labs on Spark, all on our brokers
	@$(PY) -m minikafka jars --if-online
	@$(PYTEST) -n $(JOBS) -m "proof and not judge and not soak" $(ARGS)

long: apache  ## the tests that `make test` and `make proof` leave out: heavy, and covered there by others (tests/README.md)
	@MINIKAFKA_NOTEBOOKS=whole $(PYTEST) -n 2 -m "soak and not judge" tests labs solutions $(ARGS)
	@MINIKAFKA_NOTEBOOKS=whole MINIKAFKA_ENGINE=apache $(PYTEST) -n 2 -m judge solutions $(ARGS)
	@MINIKAFKA_ENGINE=apache $(PYTEST) -n 2 -m "judge and soak" tests $(ARGS)

judge: apache  ## every client-facing test, and the solved notebooks that have changed, on Apache Kafka itself
	@MINIKAFKA_ENGINE=apache $(PYTEST) -n $(JUDGES) -m "judge and not soak" tests solutions $(ARGS)

soak: long  ## `make long`, then the simulator for longer: SEEDS=1000 clusters and ten times as many quorums, into the ledger (FROM=80000)
	@$(PY) -m minikafka sim run --raft --ledger --from $(FROM)0 --seeds $(SEEDS)0
	@$(PY) -m minikafka sim run --ledger --from $(FROM) --seeds $(SEEDS)
	@$(PY) -m minikafka chaos --hostile --minutes 5 --ledger
	@$(PY) -m minikafka chaos --frames 1000000 --seed $(FROM) --ledger
	@$(PY) tools/sim_lines.py

apache: setup  ## fetch Apache Kafka and Spark's Kafka connector, Connect and Streams too, once (180 MB), and an archive of a broker's classes; `make test` does it
	@$(PY) -m minikafka jars

demo: setup  ## the whole pipeline on real flights, with a crash in the middle (ARGS="--json")
	@$(PY) -m minikafka demo $(ARGS)

doctor: setup  ## versions, Java, ports, jars, and what to do about what is missing
	@$(PY) -m minikafka doctor

labs: setup  ## notebooks from solutions/source/: labs/ and solutions/ (LAB=06; RUN=1 runs the solved one, keeps its outputs)
	@$(PY) tools/labs.py $(LAB) $(if $(RUN),--run) $(ARGS)

site: setup  ## the solved labs and the demos as static pages with playable pictures, in build/site (ARGS="--still")
	@$(PY) tools/site.py $(ARGS)

browser: setup  ## the course as a page that runs in a browser, with nothing to install: build/browser (ARGS=--serve shows it)
	@$(PY) tools/browser.py $(ARGS)

student-copy: setup  ## what students get, without the solutions: build/minikafka.zip
	@$(PY) tools/student_copy.py $(ARGS)

lint: setup  ## the laws of the house, and ruff
	@$(PY) -m pytest -q tests/test_laws.py tests/setup/test_lock.py $(ARGS)
	@$(PY) -m ruff check minikafka tools tests solutions

lock: setup  ## make requirements.lock and environment.yml anew from requirements.in (needs uv and a network)
	@$(PY) tools/lock.py

clean:  ## what tests and notebooks leave behind
	@rm -rf .pytest_cache .ruff_cache .hypothesis build *.egg-info spark-warehouse metastore_db derby.log
	@find . -path ./.venv -prune -o -path ./.git -prune -o \( -name __pycache__ -o -name .ipynb_checkpoints \) -type d -print | xargs rm -rf

distclean: clean  ## that, and .venv
	@rm -rf .venv
