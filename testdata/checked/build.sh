#!/bin/sh
# A build step that holds a recorded session of a server against the specification and
# against what was reviewed, by the settings in .mcptap.yaml. It needs mcptap in PATH.
#
#   sh build.sh [FORMAT]   checks
#   sh build.sh pin        accepts what the server offers now, after a review
set -eu
cd "$(dirname "$0")"
if [ "${1:-}" = pin ]; then
	exec mcptap pin session.txtar -o mcptap.lock --force
fi
mcptap check session.txtar --format "${1:-text}"
