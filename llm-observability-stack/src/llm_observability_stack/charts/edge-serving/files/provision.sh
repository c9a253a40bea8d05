#!/bin/bash
# Brings the promised models into Ollama, and ends well only when each is really there, with the digest that was
# promised, and loaded where that is promised too.
#
#   provision.sh PLAN     one model a line, fields divided by tabs, `-` for nothing:
#                         name  resident|on-demand  pull|file  source  digest  request-to-create
#
# Ends with 0; 1 where trying again may help; 2 where it cannot (the Job then gives up at once).
set -uo pipefail
# shellcheck source=ollama-api.sh
. "$(dirname "$0")/ollama-api.sh"

plan=$1
host=${OLLAMA_SERVICE:-ollama} port=${OLLAMA_SERVICE_PORT_NUMBER:-11434}
attempts=${ATTEMPTS:-5}
wait_seconds=${WAIT_SECONDS:-600}
stall_seconds=${STALL_SECONDS:-600}
pause_seconds=${PAUSE_SECONDS:-5}

fail() { # fail CODE TEXT: the last line of the log, and of the pod's status
  say "FAILED: $2"
  exit "$1"
}

wait_for_ollama() {
  local end=$((SECONDS + wait_seconds)) said=''
  until call GET /api/version '' 5; do
    if ((SECONDS >= end)); then
      fail 1 "$error (waited $wait_seconds s); is the Ollama pod Ready?"
    fi
    [[ -n $said ]] || say "waiting for Ollama: $error"
    said=yes
    sleep 0.5
  done
  say "Ollama answers: $body"
}

# follow WHAT: reads the progress of a pull or a create to its end; 0 only after `success`.
follow() {
  local line last='' status_text completed total percent next=$SECONDS
  while :; do
    line=''
    if ! read -r -t "$stall_seconds" line <&3 && [[ -z $line ]]; then
      (($? > 128)) && error="no progress for $stall_seconds s"
      break
    fi
    reason "$line" && return 1
    [[ $line =~ \"status\":\"([^\"]*)\" ]] || continue
    status_text=${BASH_REMATCH[1]}
    if [[ $line =~ \"total\":([0-9]+) ]]; then
      total=${BASH_REMATCH[1]} completed=0
      [[ $line =~ \"completed\":([0-9]+) ]] && completed=${BASH_REMATCH[1]}
      percent=$((total > 0 ? 100 * completed / total : 0))
      if ((SECONDS >= next)); then
        say "$1: $status_text: $percent % of $((total / 1000000)) MB"
        next=$((SECONDS + 10))
      fi
    elif [[ $status_text != "$last" ]]; then
      say "$1: $status_text"
    fi
    last=$status_text
  done
  [[ $last == success ]] && return 0
  [[ -n $error ]] || error="Ollama broke off after \"$last\""
  return 1
}

# streamed PATH BODY WHAT: a request whose answer is progress.
streamed() {
  open POST "$1" "${#2}" || return 1
  printf '%s' "$2" >&3 2>/dev/null
  heading 600 || {
    close
    return 1
  }
  if [[ $status != 200 ]]; then
    body=$(head -c 4000 <&3)
    close
    reason "$body" || error="Ollama answered ${status:-nothing} to POST $1"
    return 1
  fi
  follow "$3"
  local ended=$?
  close
  return $ended
}

# digest_of NAME: the digest of a model that is there.
digest_of() {
  call GET /api/tags && entry "$1" && [[ $listed =~ \"digest\":\"([0-9a-f]+)\" ]] && found=${BASH_REMATCH[1]}
}

pull() { # pull NAME DIGEST
  found=''
  if digest_of "$1" && [[ $2 == - || $found == "$2"* ]]; then
    say "$1: already there (${found:0:12})"
    return 0
  fi
  if ! streamed /api/pull "{\"model\":\"$1\",\"stream\":true}" "$1"; then
    # The registry knows no such model: asking again changes nothing.
    [[ $error == *"file does not exist"* ]] && return 2
    return 1
  fi
  digest_of "$1" || return 1
  [[ $2 == - || $found == "$2"* ]] && return 0
  error="its digest is $found, and $2 was promised: the registry's tag has moved; promise the new digest or another tag"
  return 2
}

upload() { # upload PATH DIGEST: gives sum
  [[ -r $1 ]] || {
    error="$1 is not in this image"
    return 2
  }
  sum=$(sha256sum "$1") && sum=${sum%% *}
  if [[ $2 != - && $sum != "$2" ]]; then
    error="the SHA-256 of $1 is $sum, and $2 was promised"
    return 2
  fi
  call HEAD "/api/blobs/sha256:$sum" && return 0
  open POST "/api/blobs/sha256:$sum" "$(stat -Lc %s "$1")" || return 1
  cat "$1" >&3 2>/dev/null
  heading 600 || {
    close
    return 1
  }
  body=$(head -c 4000 <&3)
  close
  [[ $status == 201 || $status == 200 ]] && return 0
  reason "$body" || error="Ollama answered ${status:-nothing} to the upload of $1"
  return 1
}

provide() { # provide NAME KIND SOURCE DIGEST REQUEST
  local code
  error=''
  if [[ $2 == file ]]; then
    upload "$3" "$4"
  else
    pull "$3" "$4"
  fi
  code=$?
  ((code == 0)) || return $code
  [[ $5 == - ]] || streamed /api/create "${5//@SHA256@/$sum}" "$1"
}

hold() { # hold NAME WANTED: present, readable, and loaded where wanted
  call POST /api/show "{\"model\":\"$1\"}" || return 1
  [[ $2 == resident ]] || return 0
  load "$1" || return 1
  call GET /api/ps || return 1
  entry "$1" && return 0
  error="Ollama loaded it and let it go again: is there memory for all resident models at once?"
  return 1
}

again() { # again NAME COMMAND...: tries, and tries again where that may help
  local name=$1 try code
  shift
  for ((try = 1; ; try++)); do
    "$@"
    code=$?
    ((code == 0)) && return 0
    ((code == 2)) && fail 2 "model $name: $error"
    ((try < attempts)) || fail 1 "model $name: $error (tried $attempts times)"
    say "$name: $error; trying again"
    sleep $((try * pause_seconds))
  done
}

sum='' found='' listed=''
wait_for_ollama
present=() loaded=()
while IFS=$'\t' read -r -u 4 name wanted kind source digest request; do
  again "$name" provide "$name" "$kind" "$source" "$digest" "$request"
done 4<"$plan"
while IFS=$'\t' read -r -u 4 name wanted kind source digest request; do
  again "$name" hold "$name" "$wanted"
  present+=("$name")
  [[ $wanted == resident ]] && loaded+=("$name")
done 4<"$plan"
say "DONE: present: ${present[*]:-none}; loaded: ${loaded[*]:-none promised}"
