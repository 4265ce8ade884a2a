# What .ci/run and .ci/full share: steps, tools and tests. Both source it.
# Each step runs in a subshell in the root of the repository. A failed step does not
# stop the others.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD

export CI=${CI:-true} # tests that lack a peer fail instead of being skipped
export GOFLAGS=${GOFLAGS:--buildvcs=false -trimpath} # the build cache works for any directory
export npm_config_update_notifier=false

work=$(mktemp -d)
touch "$work"/{counts,failed,sampled,steps,wrong,unchecked}

step() { # TITLE COMMAND...: prints the title, runs the command, prints its duration
  local title=$1 begin=$SECONDS rc=0 line
  shift
  printf '\n== %s\n' "$title"
  # In the background, since set -e has no effect within the left side of ||.
  (set -e; "$@") & wait $! || rc=$?
  line=$(printf '%5d s  %s' $((SECONDS - begin)) "$title")
  if [ $rc -ne 0 ]; then
    line+=" FAILED with status $rc"
    printf '%s\n' "$title" >>"$work/wrong"
  fi
  printf -- '-- %s\n' "$line"
  printf '%s\n' "$line" >>"$work/steps"
}

# needed runs a step that the others depend on.
needed() { # TITLE COMMAND...
  step "$@"
  [ ! -s "$work/wrong" ] || exit 1
}

# background runs a step in parallel with those that follow, until gather, which prints its
# output.
background() { # TITLE COMMAND...
  (step "$@") >"$work/background" 2>&1 &
  background=$! background_title=$1
}

gather() {
  # A failed step has reported that itself; this is for one that was killed.
  wait "$background" || printf '%s, ended with status %d\n' "$background_title" $? >>"$work/wrong"
  cat "$work/background"
}

finish() {
  local rc=$?
  cd "$root"
  if [ $rc -eq 0 ] && { [ -s "$work/wrong" ] || [ -s "$work/failed" ]; }; then rc=1; fi
  printf '\n== Summary\n'
  cat "$work/steps"
  printf '%5d s  total\n' $SECONDS
  if [ -s "$work/sampled" ]; then
    printf 'Run as a sample, or left out; .ci/full (MCPTAP_LONG=1) runs them in full:\n'
    sort -u "$work/sampled" | sed 's/^/  /'
  fi
  sort -u "$work/unchecked"
  if [ -s "$work/wrong" ]; then sed 's/^/FAILED: step: /' "$work/wrong"; fi
  if [ -s "$work/failed" ]; then sed 's/^/FAILED: test: /' "$work/failed"; fi
  awk '{ p += $1; f += $2; s += $3 } END {
    printf "%d passed, %d failed%s\n", p, f, s ? ", " s " skipped" : "" }' "$work/counts"
  chmod -R u+w "$work"
  rm -rf "$work"
  exit $rc
}
trap finish EXIT

# unchecked reports, immediately and in the summary, what could not be checked.
unchecked() { # WHAT
  printf '\n*** %s ***\n' "$1"
  printf '*** %s ***\n' "$1" >>"$work/unchecked"
}

# Prints the directory of every module of the repository, the main one first.
modules() { find . -name node_modules -prune -o -name go.mod -printf '%h\n' | sort; }

# Prints the packages of the module in the working directory.
packages() { go list ./... | { grep -v /node_modules/ || true; }; }

in_each_module() { # COMMAND...
  local dir
  for dir in $(modules); do
    cd "$root/$dir"
    printf '%s\n' "$dir"
    "$@"
  done
}

install_missing() {
  local missing=()
  command -v gcc >/dev/null || missing+=(gcc libc6-dev) # the race detector needs cgo
  command -v git >/dev/null || missing+=(git)
  command -v node >/dev/null || missing+=(nodejs)
  command -v npm >/dev/null || missing+=(npm)
  command -v tmux >/dev/null || missing+=(tmux) # for the journeys in a terminal
  command -v chromium >/dev/null || missing+=(chromium) # for the tests of the viewer
  if [ ${#missing[@]} -gt 0 ]; then
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
  fi
  go version
  printf 'node %s, npm %s\n' "$(node --version)" "$(npm --version)"
}

install_npm_packages() {
  local lock
  for lock in $(find . -name node_modules -prune -o -name package-lock.json -print); do
    if grep -q '"resolved"' "$lock"; then
      printf '%s names a registry; create it with omit-lockfile-registry-resolved=true\n' "$lock"
      return 1
    fi
    (cd "$(dirname "$lock")" && npm ci --ignore-scripts --no-audit --no-fund --prefer-offline)
  done
}

formatting() {
  local wrong
  wrong=$(find . -name node_modules -prune -o -name '*.go' -print0 | xargs -0 gofmt -l)
  if [ -n "$wrong" ]; then
    printf 'gofmt would change:\n%s\n' "$wrong"
    return 1
  fi
}

vet() { go vet "$@" $(packages); }

# Tools are built outside any module, so that none of ours depends on them.
tool() { # PACKAGE@VERSION
  (cd "$work" && GOBIN=$work/bin go install "$1")
}

static_check() { # . or in_each_module, FLAGS
  tool honnef.co/go/tools/cmd/staticcheck@v0.8.2
  if [ "$1" = . ]; then shift; run_staticcheck "$@"; else "$1" run_staticcheck "${@:2}"; fi
}

run_staticcheck() { "$work/bin/staticcheck" "$@" $(packages); }

# The counts come from go test itself; pipefail keeps its status. Vet is a separate step,
# and results are not cached.
test_here() { # GO TEST ARGUMENTS...
  go test -json -vet=off -count=1 "$@" | "$work/bin/tally" "$work"
}

test_module() { # DIRECTORY GO TEST ARGUMENTS...
  cd "$1"
  shift
  test_here -timeout 30m "$@" $(packages)
}

# Builds the program for Windows, and for macOS only the packages with files specific to
# it: the whole program would take another minute. The result is not run, so it is
# compiled without optimization.
other_systems() {
  local quick=(-gcflags='all=-N -l -dwarf=false' -ldflags='-s -w')
  export CGO_ENABLED=0
  GOOS=windows GOARCH=amd64 go build "${quick[@]}" -o "$work/other/" ./cmd/mcptap
  GOOS=darwin GOARCH=arm64 go build "${quick[@]}" ./store ./tap/stdio
}
