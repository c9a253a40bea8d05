# Ollama's API in plain bash: the image has a shell and coreutils, and no HTTP client but `ollama` itself, whose
# progress bars make unreadable logs and whose `run` would download a model that is missing.
#
# Wants: host, port. Gives: status, body, error.

export LC_ALL=C TZ=UTC # lengths count bytes; times are UTC
trap '' PIPE           # a connection that Ollama drops is an error to report, not a signal to die of

say() { printf '%(%H:%M:%S)TZ %s\n' -1 "$*"; }

# open METHOD PATH LENGTH: connects and sends the head; the caller sends the body to descriptor 3.
open() {
  status='' body='' error=''
  { exec 3<>"/dev/tcp/$host/$port"; } 2>/dev/null || {
    error="Ollama does not answer at $host:$port"
    return 1
  }
  printf '%s %s HTTP/1.0\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n' \
    "$1" "$2" "$host" "$3" >&3 2>/dev/null
}

# heading SECONDS: reads the status and the headers, which must begin within that time.
heading() {
  local line=''
  if ! read -r -t "$1" line <&3; then
    error="Ollama accepted the request and did not answer within $1 s"
    return 1
  fi
  line=${line#* }
  status=${line%% *}
  while read -r -t 30 line <&3 && [[ -n ${line%$'\r'} ]]; do :; done
}

close() { exec 3<&- 3>&-; }

# reason TEXT: the message of `{"error": "..."}` in it, if there is one.
reason() {
  local pattern='"error": *"(([^"\\]|\\.)*)"'
  [[ $1 =~ $pattern ]] || return 1
  error=${BASH_REMATCH[1]//\\\"/\"}
}

# call METHOD PATH [BODY [SECONDS]]: one request; fails unless the answer is 200, and says why in `error`.
call() {
  local payload=${3-}
  open "$1" "$2" "${#payload}" || return 1
  printf '%s' "$payload" >&3 2>/dev/null
  if ! heading "${4:-30}"; then
    close
    return 1
  fi
  body=$(head -c 4000000 <&3)
  close
  [[ $status == 200 ]] && return 0
  reason "${body:0:2000}" || error="Ollama answered ${status:-nothing} to $1 $2"
  return 1
}

# entry NAME: what /api/tags or /api/ps, just read, says of that model; fails where it is not listed.
entry() {
  local rest=${body#*"\"name\":\"$1\""}
  [[ $rest != "$body" ]] || return 1
  listed=${rest%%'"name":'*}
}

# load NAME: has the model loaded, to stay (it must be in /api/tags); fails with `error`.
load() {
  call GET /api/tags || return 1
  entry "$1" || {
    error="model $1 is not there"
    return 1
  }
  # /api/generate refuses a model that only embeds; an empty input loads it without computing anything.
  if [[ $listed == *'"embedding"'* && $listed != *'"completion"'* ]]; then
    call POST /api/embed "{\"model\":\"$1\",\"input\":\"\",\"keep_alive\":-1}" 1800
  else
    call POST /api/generate "{\"model\":\"$1\",\"keep_alive\":-1,\"stream\":false}" 1800
  fi
}
