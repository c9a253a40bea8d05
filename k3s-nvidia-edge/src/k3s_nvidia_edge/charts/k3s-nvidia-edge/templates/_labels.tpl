{{/* Labels of every object. Called with (dict "root" $ "name" "the-component"). */}}
{{- define "k3s-nvidia-edge.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{ include "k3s-nvidia-edge.podLabels" . }}
{{- end -}}

{{/* Labels of pods: nothing that changes with the chart's version, which would restart them for nothing. */}}
{{- define "k3s-nvidia-edge.podLabels" -}}
{{ include "k3s-nvidia-edge.selector" . }}
app.kubernetes.io/component: {{ .component | default "gpu" }}
app.kubernetes.io/part-of: edge
edge.internal/owner: k3s-nvidia-edge
edge.internal/layer: gpu
{{- if .simulated }}
edge.internal/simulated: "true"
{{- end }}
{{- end -}}

{{/* What selects the pods: immutable in a DaemonSet. */}}
{{- define "k3s-nvidia-edge.selector" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end -}}
