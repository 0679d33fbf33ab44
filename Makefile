# Thin targets over the go command. `make help` lists them.

FUZZTIME ?= 20s

# Packages whose tests start real Kafka brokers: race-checked code, but brokers on the same two cores would only time out.
REAL := /internal/testcluster$$|/internal/e2e$$|/internal/peer$$|/internal/chaos$$
# Packages without any goroutine (internal/lint holds them to it), whose histories would take half of the time.
PURE := /offsetmap$$|/internal/lane$$

.PHONY: help build demo brokers test race lint fmt fuzz bench mutants peer chaos campaign

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/tidemark
	go build -buildvcs=auto -trimpath -o bin/ ./cmd/tidemark

demo: ## two embedded clusters, records and groups, mirrored before your eyes
	go run ./cmd/tidemark demo

brokers: ## two real Kafka brokers on this machine to try it on, and a file for them (Java and Maven; CTRL-C ends them)
	@go run ./tools/brokers

# internal/e2e takes longest and goes first: by the alphabet seventeen packages, with the chaos tests, are ahead of it.
test: ## all tests, with real Kafka brokers (Java, Maven and kcat are installed if missing and root, jars are fetched once)
	go test -timeout 40m ./internal/e2e ./...

race: ## the tests of code that runs concurrently, without real brokers, with the race detector
	go test -race -timeout 20m $$(go list ./... | grep -v -E '$(REAL)|$(PURE)')

# The cache is emptied first: with one that is partly out of date v2.15.0 reports imports that it "could not import".
lint: bin/golangci-lint ## all lint rules (the first run builds the linter, about two minutes)
	bin/golangci-lint cache clean
	bin/golangci-lint run

fmt: bin/golangci-lint ## format all Go files
	bin/golangci-lint fmt

bin/golangci-lint: tools/golangci/go.mod tools/golangci/go.sum
	go -C tools/golangci build -buildvcs=false -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

fuzz: ## every fuzz target for FUZZTIME each (default 20s), four at a time
	.ci/fuzz $(FUZZTIME)

bench: ## all benchmarks
	go test -run '^$$' -bench . -benchmem ./...

mutants: ## small breaks of internal/lane and internal/mirror, one after the other: each must be caught by a test, or be explained
	go run ./tools/mutants

# Two classes at a time, each in a JVM of its own.
peer: ## all integration tests of MirrorMaker 2 in Apache Kafka against Tidemark (about an hour), and the table of them in docs
	go test -count=1 -timeout 120m -parallel 2 ./internal/peer -v -peer.all

# One failure ends nothing: every world is run, and each says how to run it again.
CHAOSFOR ?= 2m
CHAOSSEED ?= 1
chaos: ## attack the mirror: kills at named points, and schedules of faults of CHAOSFOR each (default 2m), from seed CHAOSSEED on
	@failed=0; run() { echo "$$*"; go test -count=1 -timeout 60m ./internal/chaos -v -chaos.seed=$$seed "$$@" || failed=1; seed=$$((seed + 1)); }; \
	seed=$(CHAOSSEED); run -run TestPoints -chaos.each=5; \
	for world in single three source3 short tv0; do run -run TestChaos -chaos.for=$(CHAOSFOR) -chaos.world=$$world; done; \
	exit $$failed

# What a release must survive, about an hour and a half: each run logs what was "done".
campaign: ## the large attack: 1,000 kills, 60 zombies and 5 of 90 s, 50 kills of brokers
	@failed=0; run() { echo "$$*"; go test -count=1 -timeout 120m ./internal/chaos -v "$$@" || failed=1; }; \
	run -run TestPoints -chaos.each=8 -chaos.seed=1101 -chaos.world=three; \
	run -run TestChaos -chaos.seed=1201 -chaos.seeds=6 -chaos.for=150s -chaos.faults=zombie; \
	run -run TestChaos -chaos.seed=1301 -chaos.for=450s -chaos.faults=longzombie; \
	run -run TestChaos -chaos.seed=1501 -chaos.seeds=3 -chaos.for=100s -chaos.faults=upgrade,mixed -chaos.former=6dfd300; \
	run -run TestChaos -chaos.seed=1401 -chaos.seeds=5 -chaos.for=150s -chaos.world=three -chaos.faults=broker,coordinator; \
	for seed in 1001 1002 1003 1004; do run -run TestPoints -chaos.each=20 -chaos.seed=$$seed; done; \
	exit $$failed
