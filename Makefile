# Everything here sets up what it needs and is missing; scripts/ is how.
# PG_CONFIG=/path/to/pg_config or PG_MAJOR=17 chooses among several PostgreSQL.

export PG_CONFIG PG_MAJOR

.PHONY: help demo test test-matrix bench bench-quick bench-check server psql stop install lint build package setup
.NOTPARALLEL:

help:
	@echo "make demo       twenty runs race for one slot, and one event is sent three times: without and with pg_claims"
	@echo "make test       run the tests (ONLY=regress NAMES='…' for some of them)"
	@echo "make test-KIND  run one kind: a folder of tests/"
	@echo "make test-crash SEED=1 MINUTES=10   kill the server for ten minutes, as that seed says"
	@echo "make test-matrix   run those that meet PostgreSQL most closely on 15, 16, 17 and 18 (MAJORS='17 18' for some)"
	@echo "make bench      measure it beside its rivals: half an hour (WORK='claim-new …' for some workloads)"
	@echo "make bench-quick   the same in three minutes; bench-check: only whether the bench works"
	@echo "make lint       rustfmt, clippy, cargo-deny, pgspot, shellcheck"
	@echo "make server     start the scratch server under target/pg with the extension in it"
	@echo "make psql       psql in it"
	@echo "make stop       stop it"
	@echo "make install    install into the PostgreSQL that PG_CONFIG=… names"
	@echo "make build      build only"
	@echo "make package    a .deb and an .rpm for PG=17 into target/packages/17"
	@echo "PG_CONFIG=/path/to/pg_config or PG_MAJOR=17 chooses among several PostgreSQL."

demo: server
	@scripts/demo.sh

test: server
	@scripts/test.sh $(ONLY) $(NAMES)

# One kind of tests, a folder of tests/.
test-%: server
	@scripts/test.sh $* $(NAMES)

# Gets each PostgreSQL that is not here, below target/.
test-matrix: setup
	@scripts/matrix.sh $(MAJORS)

bench bench-quick bench-check: server
	@scripts/setup.sh bench
	@scripts/bench.sh $(if $(filter bench,$@),full,$(@:bench-%=%)) $(WORK)

lint:
	@scripts/setup.sh lint
	@scripts/build.sh
	@scripts/lint.sh

server: build
	@scripts/server.sh start

psql: build
	@scripts/server.sh psql

stop:
	@scripts/server.sh stop

install:
	@scripts/setup.sh build
	@scripts/build.sh
	@scripts/install.sh

# For a machine without Rust.
PG ?= 17
package:
	@scripts/package.sh $(PG)

build: setup
	@scripts/build.sh

setup:
	@scripts/setup.sh
