# AX. `make` alone explains itself. The one prerequisite is Go 1.26.
SHELL := /bin/sh
GO ?= go
DATA ?= ./data
LISTEN ?= 127.0.0.1:8080
SOAK ?= 30m

# One set of build flags everywhere, so that one build cache serves all. -race needs cgo and sets it itself.
BUILD := CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false
TEST_FLAGS ?= -race -count=1 -timeout 20m
PKG ?= ./...

.DEFAULT_GOAL := help
.PHONY: help build run dev test bench drill soak check generate assets shots rootfs-proof clean

help: ## this list
	@echo "AX: make TARGET"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "Variables: DATA=$(DATA) LISTEN=$(LISTEN) for run and dev; PKG=$(PKG) for test"

build: ## bin/ax, one static binary
	$(BUILD) -o bin/ax .

run: build ## everything on embedded stores with the demo project; prints the URL and a login link
	./bin/ax --mode=all --data $(DATA) --listen $(LISTEN) --demo

dev: ## the same, rebuilt and reloaded in the browser when a page or Go file changes
	$(GO) tool templ generate --watch --proxy=http://$(LISTEN) --open-browser=false \
		--cmd="$(GO) run -buildvcs=false . --mode=all --data $(DATA) --listen $(LISTEN) --demo"

test: ## all tests with the race detector, on SQLite, MariaDB, embedded and real Redis and in Chromium
	@./e2e/setup/install.sh
	@$(GO) run -buildvcs=false ./e2e/setup/testrun $(TEST_FLAGS) $(PKG)

bench: ## how fast AX is here, beside its aims (10 min); BENCH="-parts a,b -runs 3 -json FILE" chooses
	@$(GO) run -buildvcs=false ./e2e/bench $(BENCH)

drill: ## break real processes one by one under 1,000 fires a minute (30 min); DRILL="-only KEY -long -json FILE" chooses
	@$(GO) run -buildvcs=false ./e2e/scenarios/drill $(DRILL)

soak: ## the same load for SOAK=30m with a random fault each 20 s; DRILL="-seed N" repeats one
	@$(GO) run -buildvcs=false ./e2e/scenarios/drill -soak $(SOAK) $(DRILL)

check: ## what CI asks of the source: format, vet, staticcheck, generated files, rules of the house
	@./e2e/setup/check.sh

generate: ## *_templ.go from the *.templ, docs/states.md from the table of moves
	$(GO) tool templ generate
	AX_TEST_WRITE_DOCS=1 $(GO) test -count=1 -run States ./docs

assets: ## static/ again from the pinned front-end packages
	$(GO) run -buildvcs=false ./static/build

shots: ## screenshots of the pages in both languages into e2e/shots
	AX_SHOTS=1 $(GO) test -buildvcs=false -count=1 ./e2e/browser/...

rootfs-proof: ## the image's layout as an ordinary user on a read-only Debian (needs root and debootstrap)
	./e2e/setup/rootfs-proof.sh

clean: ## what the build made; data stays
	rm -rf bin tmp
