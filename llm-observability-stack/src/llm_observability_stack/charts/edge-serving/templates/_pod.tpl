{{/* An image by tag, and by digest where it is known. */}}
{{- define "edge-serving.image" -}}
{{ .repository }}:{{ .tag }}{{ with .digest }}@{{ . }}{{ end }}
{{- end -}}

{{/* No root, no privileges, nothing to write to but volumes. */}}
{{- define "edge-serving.hardened" -}}
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* The user that owns the volumes. */}}
{{- define "edge-serving.user" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{/* A size in MiB; nothing where it is no size of ours. */}}
{{- define "edge-serving.mebibytes" -}}
{{- $factor := get (dict "Mi" 1 "Gi" 1024 "Ti" 1048576) (regexFind "[A-Za-z]+$" .) }}
{{- if $factor }}{{ mul (regexFind "^[0-9]+" . | int64) $factor }}{{ end }}
{{- end -}}

{{/*
A claim that outlives its release: `edge down` keeps volumes. A claim can grow and can do nothing else: one that is there
already keeps its class, and its size unless more is asked for.
*/}}
{{- define "edge-serving.claim" -}}
{{- $size := .storage.size }}
{{- $class := .storage.className }}
{{- with lookup "v1" "PersistentVolumeClaim" .root.Release.Namespace .claim }}
{{- $class = .spec.storageClassName | default "" }}
{{- $have := .spec.resources.requests.storage }}
{{- $have_mebibytes := include "edge-serving.mebibytes" $have | default "0" | int64 }}
{{- if or (eq $have_mebibytes 0) (gt $have_mebibytes (include "edge-serving.mebibytes" $size | int64)) }}
{{- $size = $have }}
{{- end }}
{{- end }}
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {{ .claim }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "edge-serving.labels" . | nindent 4 }}
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
