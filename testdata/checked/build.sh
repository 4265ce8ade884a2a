#!/bin/sh
# A build step that holds a recorded session of a server against the specification and
# against what was reviewed. It needs mcptap in PATH.
set -eu
cd "$(dirname "$0")"
mcptap check session.txtar --lock mcptap.lock --locked --baseline known.json --fail-on should \
	--expect 'kind:request method:tools/call' --forbid 'latency:>10s' --format "${1:-text}"
