{{/* Prometheus's share of its volume, in MB (which Prometheus counts in powers of 1024). */}}
{{- define "edge-telemetry.retentionMb" -}}
{{- $size := .Values.prometheus.storage.size }}
{{- $mebibytes := include "edge-telemetry.mebibytes" $size | int64 }}
{{- $share := div (mul $mebibytes .Values.prometheus.retention.sizePercent) 100 }}
{{- $share }}
{{- end -}}

{{/* prometheus.yml. Targets are Services of this namespace by name: nothing to discover, no token, nothing to lose by selectors. */}}
{{- define "edge-telemetry.prometheusConfig" -}}
global:
  scrape_interval: {{ .Values.scrape.intervalSeconds }}s
  scrape_timeout: {{ .Values.scrape.timeoutSeconds }}s
  evaluation_interval: {{ .Values.scrape.intervalSeconds }}s
  # Of each target. More is an explosion of labels: better a failed scrape that says so than a full disk.
  sample_limit: {{ int .Values.scrape.sampleLimit }}
  label_limit: 64
  label_value_length_limit: 1024
  {{- with .Values.prometheus.externalLabels }}
  external_labels:
    {{- toYaml . | nindent 4 }}
  {{- end }}
storage:
  tsdb:
    retention:
      time: {{ .Values.prometheus.retention.days }}d
      size: {{ include "edge-telemetry.retentionMb" . }}MB
rule_files:
  - /etc/prometheus/rules/*.yml
alerting:
  alertmanagers:
    - static_configs:
        - targets: ["alertmanager:9093"]
scrape_configs:
  - job_name: prometheus
    {{- include "edge-telemetry.trimmed" . | nindent 4 }}
    static_configs:
      - targets: ["localhost:9090"]
  - job_name: alertmanager
    {{- include "edge-telemetry.trimmed" . | nindent 4 }}
    static_configs:
      - targets: ["alertmanager:9093"]
  - job_name: edge-exporter
    static_configs:
      - targets: ["edge-exporter:9835"]
  {{- if .Values.dcgm.enabled }}
  - job_name: dcgm-exporter
    # One target a node. Its own pod is named here so that the pod which holds the card comes out as `exported_pod`.
    dns_sd_configs:
      - {names: [dcgm-exporter], type: A, port: 9400, refresh_interval: 30s}
    relabel_configs:
      - {target_label: pod, replacement: dcgm-exporter}
      - {target_label: namespace, replacement: {{ .Release.Namespace }}}
      - {target_label: container, replacement: dcgm-exporter}
  {{- end }}
  {{- range .Values.scrape.extra }}
  - job_name: {{ .job }}
    {{- with .path }}
    metrics_path: {{ . | quote }}
    {{- end }}
    {{- with .scheme }}
    scheme: {{ . }}
    {{- end }}
    {{- with .intervalSeconds }}
    scrape_interval: {{ . }}s
    {{- end }}
    {{- with .timeoutSeconds }}
    scrape_timeout: {{ . }}s
    {{- end }}
    static_configs:
      - targets: {{ toJson .targets }}
  {{- end }}
{{- end -}}

{{/*
What no rule and no dashboard asks for of Prometheus and Alertmanager: two thirds of their series, a year of which would take
as much room as all the rest.
*/}}
{{- define "edge-telemetry.trimmed" -}}
metric_relabel_configs:
  - {source_labels: [__name__], regex: '(go|net_conntrack|promhttp|prometheus_(engine|http|sd|remote|template|treecache|web)|alertmanager_(notification|notifications|nflog|silences|http|cluster|dispatcher|inhibition))_.+|.+_bucket', action: drop}
{{- end -}}

{{/* The rule files, the same in both modes; unit tests that lie beside them stay out. */}}
{{- define "edge-telemetry.ruleFiles" -}}
{{- range $path, $_ := .Files.Glob "files/rules/*.yml" }}
{{- if not (regexMatch "[._-]tests?[.]yml$" $path) }}
{{ $path }}
{{- end }}
{{- end }}
{{- end -}}

{{/* A rule file as Prometheus gets it. Called with (dict "root" $ "path" "files/rules/edge-llm.yml"). */}}
{{- define "edge-telemetry.rules" -}}
{{- $by := int .root.Values.rules.divideTimesBy }}
{{- if eq $by 1 }}
{{- .root.Files.Get .path }}
{{- else }}
{{- $document := .root.Files.Get .path | fromYaml }}
{{- range $group := $document.groups }}
{{- range $rule := $group.rules }}
{{- with $rule.for }}
{{- $_ := set $rule "for" (include "edge-telemetry.shortened" (dict "span" . "by" $by "least" 1)) }}
{{- end }}
{{- $expression := $rule.expr }}
{{- range $window := regexFindAll "\\[[0-9]+[smhd]\\]" $expression -1 | uniq }}
{{- $span := trimAll "[]" $window }}
{{- $least := mul 4 $.root.Values.scrape.intervalSeconds }}
{{- $short := include "edge-telemetry.shortened" (dict "span" $span "by" $by "least" $least) }}
{{- $expression = replace $window (printf "[%s]" $short) $expression }}
{{- end }}
{{- $_ := set $rule "expr" $expression }}
{{- end }}
{{- end }}
{{- toYaml $document }}
{{- end }}
{{- end -}}

{{/* A time span divided, in whole seconds, and not below the least. */}}
{{- define "edge-telemetry.shortened" -}}
{{- $units := dict "s" 1 "m" 60 "h" 3600 "d" 86400 }}
{{- $seconds := mul (regexFind "^[0-9]+" .span | int64) (get $units (regexFind "[smhd]$" .span)) }}
{{- max (div (add $seconds .by -1) .by) .least }}s
{{- end -}}
