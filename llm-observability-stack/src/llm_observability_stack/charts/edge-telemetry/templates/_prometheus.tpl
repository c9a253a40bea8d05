{{/* Prometheus's share of its volume, in MB (which Prometheus counts in powers of 1024). */}}
{{- define "edge-telemetry.retentionMb" -}}
{{- $size := .Values.prometheus.storage.size }}
{{- $mebibytes := include "edge-telemetry.mebibytes" $size | int64 }}
{{- $share := div (mul $mebibytes .Values.prometheus.retention.sizePercent) 100 }}
{{- if lt $share 256 }}
{{- fail (printf "prometheus.storage.size %s is too small: its share for blocks is %d MB, and below 256 MB it is all write-ahead log; give it 1Gi at least" $size $share) }}
{{- end }}
{{- $share }}
{{- end -}}

{{/* prometheus.yml. Targets are Services of this namespace by name: nothing to discover, no token, nothing to lose by selectors. */}}
{{- define "edge-telemetry.prometheusConfig" -}}
{{- if gt (int .Values.scrape.timeoutSeconds) (int .Values.scrape.intervalSeconds) }}
{{- fail "scrape.timeoutSeconds is above scrape.intervalSeconds: Prometheus refuses that" }}
{{- end -}}
global:
  scrape_interval: {{ .Values.scrape.intervalSeconds }}s
  scrape_timeout: {{ .Values.scrape.timeoutSeconds }}s
  evaluation_interval: {{ .Values.scrape.intervalSeconds }}s
  # Of each target. More is an explosion of labels: better a failed scrape that says so than a full disk.
  sample_limit: 10000
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
    static_configs:
      - targets: ["localhost:9090"]
  - job_name: alertmanager
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
    metrics_path: {{ . }}
    {{- end }}
    {{- with .scheme }}
    scheme: {{ . }}
    {{- end }}
    static_configs:
      - targets: {{ toJson .targets }}
  {{- end }}
{{- end -}}

{{/* The rule files, the same in both modes; unit tests that lie beside them stay out. */}}
{{- define "edge-telemetry.ruleFiles" -}}
{{- range $path, $_ := .Files.Glob "files/rules/*.yml" }}
{{- if not (regexMatch "[._-]tests?[.]yml$" $path) }}
{{ $path }}
{{- end }}
{{- end }}
{{- end -}}
