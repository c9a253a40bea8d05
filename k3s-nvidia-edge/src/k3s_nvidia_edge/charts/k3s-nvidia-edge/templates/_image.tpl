{{/* An image by tag, and by digest where it is known. */}}
{{- define "k3s-nvidia-edge.image" -}}
{{ .repository }}:{{ .tag }}{{ with .digest }}@{{ . }}{{ end }}
{{- end -}}
