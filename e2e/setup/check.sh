#!/bin/sh
# What CI asks of the source, one named check after the other; all run, the summary comes last.
# A check is a command that is silent and returns 0 when the tree is in order.
set -u
cd "$(dirname "$0")/../.." || exit 2
GO=${GO:-go}
out=$(mktemp) || exit 2
trap 'rm -f "$out"' EXIT
passed=0
failed=0
bad=

check() { # check NAME MEND COMMAND…
	name=$1 mend=$2
	shift 2
	if "$@" >"$out" 2>&1; then
		passed=$((passed + 1))
		printf 'ok    %s\n' "$name"
		return
	fi
	failed=$((failed + 1))
	bad="$bad
  $name: $mend"
	printf 'FAIL  %s\n' "$name"
	sed 's/^/      | /' "$out"
}

formatted() { # gofmt alone returns 0 whatever it finds
	files=$(find . -name node_modules -prune -o -name '*.go' -exec gofmt -l {} +) && [ -z "$files" ] || {
		echo "$files"
		return 1
	}
}

tests() { # tests ARGS…: go test that must find tests, since a rule that nothing states is not kept
	said=$($GO test -count=1 "$@" 2>&1)
	code=$?
	echo "$said"
	case $said in *"no tests to run"* | *"no test files"*) code=1 ;; esac
	return $code
}

check gofmt "gofmt -w the files named" formatted
check "go vet" "see the lines named" $GO vet ./...
check staticcheck "see the lines named; rules in staticcheck.conf" $GO tool staticcheck ./...
check "go mod tidy" "go mod tidy, and commit go.mod and go.sum" $GO mod tidy -diff
check "go mod verify" "go clean -modcache, then look at what differs" $GO mod verify
check "pages are generated" "make generate, and commit the *_templ.go" $GO tool templ generate -check
check "assets are built" "make assets, and commit static/" $GO run -buildvcs=false ./static/build -check
check "rules of the house" "arch_test.go and lint_test.go give each rule's reason" tests -run 'Arch|Lint' .
check "catalogs are complete" "add the missing keys to both languages" tests ./modules/kit/i18n
check "docs/states.md is fresh" "AX_TEST_WRITE_DOCS=1 go test ./docs, and commit it" tests -run States ./docs
check "static binary" "it must build without cgo" env CGO_ENABLED=0 $GO build -trimpath -buildvcs=false -o /dev/null .

echo
if [ "$failed" -gt 0 ]; then printf 'to mend:%s\n' "$bad"; fi
echo "checks: $passed passed, $failed failed"
if [ -n "${AX_CHECK_SUMMARY:-}" ]; then echo "$passed $failed" >"$AX_CHECK_SUMMARY"; fi
[ "$failed" -eq 0 ]
