{{/* Labels of every object. Called with (dict "root" $ "name" "prometheus"). */}}
{{- define "edge-telemetry.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{ include "edge-telemetry.podLabels" . }}
{{- end -}}

{{/* Labels of pods: nothing that changes with the chart's version, which would restart Prometheus for nothing. */}}
{{- define "edge-telemetry.podLabels" -}}
{{ include "edge-telemetry.selector" . }}
app.kubernetes.io/component: {{ .name }}
app.kubernetes.io/part-of: edge
edge.internal/owner: llm-observability-stack
edge.internal/layer: telemetry
{{- end -}}

{{/* What selects the pods: immutable in a Deployment. */}}
{{- define "edge-telemetry.selector" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end -}}
