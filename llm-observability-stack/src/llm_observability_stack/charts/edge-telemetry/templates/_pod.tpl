{{/* An image by tag, and by digest where it is known. */}}
{{- define "edge-telemetry.image" -}}
{{ .repository }}:{{ .tag }}{{ with .digest }}@{{ . }}{{ end }}
{{- end -}}

{{/*
Whether a claim can be mounted: one of this release, or one that the cluster has. A pod with a claim that nobody makes would wait
for ever. Where no cluster was asked (`helm template`) it is taken to be there.
*/}}
{{- define "edge-telemetry.claimIsThere" -}}
{{- $asked := lookup "v1" "Namespace" "" "kube-system" }}
{{- if or (not $asked) (eq .claim "prometheus-data") (lookup "v1" "PersistentVolumeClaim" .root.Release.Namespace .claim) }}yes{{ end }}
{{- end -}}

{{/* No root, no privileges, nothing to write to but volumes. */}}
{{- define "edge-telemetry.hardened" -}}
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* `nobody`, as the images of Prometheus and Alertmanager have it. */}}
{{- define "edge-telemetry.user" -}}
runAsNonRoot: true
runAsUser: 65534
runAsGroup: 65534
fsGroup: 65534
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{/* Where a pod may run. */}}
{{- define "edge-telemetry.place" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* A quantity of Kubernetes (50Gi, 50G, 1.5Ti, or bytes) in whole MiB; nothing where it is none, or beyond what counts. */}}
{{- define "edge-telemetry.mebibytes" -}}
{{- $text := ternary (printf "%.0f" (float64 .)) (toString .) (kindIs "float64" .) }}
{{- if regexMatch "^([0-9]{1,15}([.][0-9]{1,6})?(m|k|Ki|M|Mi)?|[0-9]{1,7}([.][0-9]{1,6})?(G|T|Gi|Ti))$" $text }}
{{- $bytes := dict "" 1.0 "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 }}
{{- divf (mulf (regexFind "^[0-9.]+" $text | float64) (get $bytes (regexFind "[A-Za-z]*$" $text))) 1048576.0 | floor | int64 }}
{{- end }}
{{- end -}}

{{/*
A claim that outlives its release: `edge down` keeps volumes. A claim can grow and can do nothing else: one that is there
already keeps its class, and its size unless more is asked for.
*/}}
{{- define "edge-telemetry.claim" -}}
{{- $size := .storage.size }}
{{- $class := .storage.className }}
{{- with lookup "v1" "PersistentVolumeClaim" .root.Release.Namespace .claim }}
{{- $class = .spec.storageClassName | default "" }}
{{- $have := .spec.resources.requests.storage }}
{{- $have_mebibytes := include "edge-telemetry.mebibytes" $have | default "0" | int64 }}
{{- if or (eq $have_mebibytes 0) (gt $have_mebibytes (include "edge-telemetry.mebibytes" $size | int64)) }}
{{- $size = $have }}
{{- end }}
{{- end }}
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {{ .claim }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "edge-telemetry.labels" . | nindent 4 }}
  annotations:
    helm.sh/resource-policy: keep
spec:
  accessModes: [ReadWriteOnce]
  {{- with $class }}
  storageClassName: {{ . }}
  {{- end }}
  resources:
    requests:
      storage: {{ $size }}
{{- end -}}

{{/* A Service inside the cluster. */}}
{{- define "edge-telemetry.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "edge-telemetry.labels" . | nindent 4 }}
spec:
  selector:
    {{- include "edge-telemetry.selector" . | nindent 4 }}
  ports:
    {{- range $port := .ports }}
    - {name: {{ $port.name }}, port: {{ $port.port }}, targetPort: {{ $port.name }}, protocol: TCP}
    {{- end }}
{{- end -}}

{{/* A ServiceAccount; only a pod that asks for it gets its token. */}}
{{- define "edge-telemetry.account" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "edge-telemetry.labels" . | nindent 4 }}
automountServiceAccountToken: false
{{- end -}}
