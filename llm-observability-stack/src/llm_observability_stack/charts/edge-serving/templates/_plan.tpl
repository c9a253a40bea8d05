{{/* The plan that files/provision.sh and files/residency.sh read: one model a line, fields divided by tabs. */}}
{{- define "edge-serving.plan" -}}
{{- $seen := dict }}
{{- range $model := .Values.models }}
{{- if hasKey $seen $model.name }}
{{- fail (printf "models: %s is listed twice" $model.name) }}
{{- end }}
{{- $_ := set $seen $model.name true }}
{{- $wanted := ternary "resident" "on-demand" ($model.resident | default false) }}
{{- $request := "-" }}
{{- if $model.file }}
{{- $files := dict (base $model.file.path) "sha256:@SHA256@" }}
{{- $body := dict "model" $model.name "files" $files "stream" true }}
{{- with $model.parameters }}{{ $_ := set $body "parameters" . }}{{ end }}
{{- $request = toJson $body }}
{{- printf "%s\t%s\tfile\t%s\t%s\t%s\n" $model.name $wanted $model.file.path ($model.file.sha256 | default "-") $request }}
{{- else }}
{{- $from := $model.pull.from | default $model.name }}
{{- if $model.parameters }}
{{- if eq $from $model.name }}
{{- fail (printf "models: %s has parameters, so it is made from another model: name that one in pull.from" $model.name) }}
{{- end }}
{{- end }}
{{- if ne $from $model.name }}
{{- $body := dict "model" $model.name "from" $from "stream" true }}
{{- with $model.parameters }}{{ $_ := set $body "parameters" . }}{{ end }}
{{- $request = toJson $body }}
{{- end }}
{{- printf "%s\t%s\tpull\t%s\t%s\t%s\n" $model.name $wanted $from ($model.pull.digest | default "-") $request }}
{{- end }}
{{- end }}
{{- end -}}

{{/* "true" where a model is promised to stay loaded. */}}
{{- define "edge-serving.hasResident" -}}
{{- range .Values.models }}{{ if .resident }}true{{ end }}{{ end }}
{{- end -}}

{{/* "true" where a model comes from the registry, and not from what a bundle brought. */}}
{{- define "edge-serving.hasPull" -}}
{{- range ternary list .Values.models (not (empty .Values.ollama.seed)) }}{{ if .pull }}true{{ else if not .file }}true{{ end }}{{ end }}
{{- end -}}
