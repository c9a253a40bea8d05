#!/bin/bash
# Keeps the promise that a model is loaded: after a restart of Ollama it loads the resident models again.
# It never downloads, and says so in its log where a model is missing.
#
#   residency.sh PLAN     as for provision.sh; read anew each time, so that a changed promise needs no restart
set -uo pipefail
# shellcheck source=ollama-api.sh
. "$(dirname "$0")/ollama-api.sh"
trap 'exit 0' TERM INT

plan=$1
host=127.0.0.1 port=${OLLAMA_PORT_NUMBER:-11434}
period_seconds=${PERIOD_SECONDS:-10}
pause_most_seconds=300 # between two tries of a model that will not stay: a load takes the card's time from requests
settled_seconds=600    # a model that stayed that long is trusted again

declare -A not_before=() pause=() since=() told=()

once() { # once KEY TEXT: says it, unless it was the last thing said of that
  [[ ${told[$1]-} == "$2" ]] || say "$2"
  told[$1]=$2
}

keep() { # keep NAME: loads it where it is not loaded and its time has come
  local name=$1 started wait
  ((SECONDS >= ${not_before[$name]:-0})) || return 0
  started=$SECONDS
  call GET /api/tags || return 0
  if ! entry "$name"; then
    once "$name" "$name is promised to be loaded and is missing: provisioning brings it, this does not"
    return 0
  fi
  wait=$((2 * ${pause[$name]:-0}))
  ((wait > 0)) || wait=$period_seconds
  ((wait <= pause_most_seconds)) || wait=$pause_most_seconds
  pause[$name]=$wait
  if load "$name"; then
    say "$name: loaded in $((SECONDS - started)) s"
    told[$name]='' since[$name]=$SECONDS
  else
    once "$name" "$name: cannot be loaded: $error"
  fi
  not_before[$name]=$((SECONDS + wait))
}

listed=''
say "keeping the resident models loaded"
while :; do
  if call GET /api/ps '' 10; then
    once ollama "Ollama answers"
    loaded=$body
    while IFS=$'\t' read -r -u 4 name wanted _; do
      [[ $wanted == resident ]] || continue
      body=$loaded
      if entry "$name"; then
        [[ -n ${since[$name]-} ]] || since[$name]=$SECONDS
        ((SECONDS - ${since[$name]} < settled_seconds)) || pause[$name]=0
      else
        unset "since[$name]"
        keep "$name"
      fi
    done 4<"$plan"
  else
    once ollama "$error"
    not_before=() pause=() # Ollama starts anew: no model has to wait
  fi
  sleep "$period_seconds" &
  wait $!
done
