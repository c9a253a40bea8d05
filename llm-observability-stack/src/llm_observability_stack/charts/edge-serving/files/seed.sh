#!/bin/bash
# Copies models that a bundle brought into Ollama's volume, before Ollama starts: nothing has to be downloaded then.
#
#   seed.sh FROM TO     both Ollama's own layout: manifests/<registry>/<namespace>/<model>/<tag>, blobs/sha256-<digest>
#
# A blob is held to its digest and appears whole or not at all; a manifest comes last, so that a model that is listed is
# there. What the volume has already is left alone. Ends with 1 where something is missing or damaged.
set -euo pipefail
from=$1 to=$2

say() {
  printf '%s %s\n' "$(date -u +%H:%M:%S)" "$*"
}

fail() { # the last line of the log, and of the pod's status
  say "FAILED: $*"
  exit 1
}

blob() { # blob DIGEST MODEL
  local name="sha256-${1#sha256:}" part sum
  [[ -e $to/blobs/$name ]] && return 0
  [[ -f $from/blobs/$name ]] || fail "$2: blob $1 is not among what the bundle brought: load the bundle again"
  part=$to/blobs/.seed-$name
  cp -- "$from/blobs/$name" "$part" || fail "$2: blob $1 cannot be copied: is the volume large enough?"
  sum=$(sha256sum <"$part") && sum=${sum%% *}
  if [[ $sum != "${1#sha256:}" ]]; then
    rm -f -- "$part"
    fail "$2: the SHA-256 of blob $1 is $sum: load the bundle again"
  fi
  mv -- "$part" "$to/blobs/$name"
}

[[ -d $from/manifests ]] || fail "$from holds no models: load the bundle on this node"
mkdir -p "$to/blobs"
rm -f -- "$to"/blobs/.seed-*
cd "$from/manifests"
while IFS= read -r -d '' manifest; do
  if [[ -e $to/manifests/$manifest ]] && cmp -s "$manifest" "$to/manifests/$manifest"; then
    say "$manifest: already there"
    continue
  fi
  for digest in $(grep -o 'sha256:[0-9a-f]\{64\}' "$manifest"); do
    blob "$digest" "$manifest"
  done
  mkdir -p "$to/manifests/$(dirname "$manifest")"
  cp -- "$manifest" "$to/manifests/$manifest.seed"
  mv -- "$to/manifests/$manifest.seed" "$to/manifests/$manifest"
  say "$manifest: copied"
done < <(find . -type f -printf '%P\0' | sort -z)
say DONE
