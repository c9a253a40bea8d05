{{/* alertmanager.yml. */}}
{{- define "edge-telemetry.alertmanagerConfig" -}}
{{- $alertmanager := .Values.alertmanager }}
{{- $receivers := $alertmanager.receivers }}
{{- $mail := or $receivers.default.mailTo $receivers.critical.mailTo }}
{{- if $mail }}
global:
  smtp_smarthost: {{ $alertmanager.smtp.smarthost | quote }}
  smtp_from: {{ $alertmanager.smtp.from | quote }}
  {{- with $alertmanager.smtp.username }}
  smtp_auth_username: {{ . | quote }}
  {{- end }}
  {{- if $alertmanager.smtp.passwordSecret.name }}
  smtp_auth_password_file: /etc/alertmanager/smtp/{{ $alertmanager.smtp.passwordSecret.key }}
  {{- end }}
{{ end -}}
route:
  receiver: {{ include "edge-telemetry.told" (dict "receivers" $receivers "name" "default") | quote }}
  group_by: [alertname, node, rung]
  group_wait: {{ $alertmanager.groupWait }}
  group_interval: {{ $alertmanager.groupInterval }}
  repeat_interval: {{ $alertmanager.repeatInterval }}
  routes:
    # Always firing, to prove that rules reach Alertmanager: nobody is to be woken by it.
    - receiver: "null"
      matchers: ['alertname="Watchdog"']
    - receiver: {{ include "edge-telemetry.told" (dict "receivers" $receivers "name" "critical") | quote }}
      matchers: ['severity="critical"']
      repeat_interval: 1h
receivers:
  - name: "null"
  - name: default
    {{- with include "edge-telemetry.receiver" $receivers.default }}{{ . | nindent 4 }}{{ end }}
  - name: critical
    {{- with include "edge-telemetry.receiver" $receivers.critical }}{{ . | nindent 4 }}{{ end }}
inhibit_rules:
{{ .Files.Get "files/alertmanager/inhibition.yml" | trim | indent 2 }}
{{- end -}}

{{/*
Who is told where `name` ought to be. What is critical goes to the default where nobody is named for it: an operator of a box who
fills in one receiver wants to hear of the worst first of all. Called with (dict "receivers" ... "name" "critical").
*/}}
{{- define "edge-telemetry.told" -}}
{{- $own := get .receivers .name }}
{{- $default := .receivers.default }}
{{- if or $own.webhookUrl $own.mailTo }}{{ .name }}{{ else if or $default.webhookUrl $default.mailTo }}default{{ else if eq .name "default" }}null{{ else }}{{ .name }}{{ end }}
{{- end -}}

{{- define "edge-telemetry.receiver" -}}
{{- with .webhookUrl -}}
webhook_configs:
  - {url: {{ . | quote }}, send_resolved: true}
{{- end }}
{{- with .mailTo }}
email_configs:
  - {to: {{ . | quote }}, send_resolved: true}
{{- end }}
{{- end -}}

{{/* A matcher of Alertmanager (`severity="critical"`) as the operator writes it. */}}
{{- define "edge-telemetry.matcher" -}}
{{- $operator := regexFind "(=~|!~|!=|=)" . }}
{{- $parts := splitn $operator 2 . }}
{name: {{ $parts._0 }}, matchType: {{ quote $operator }}, value: {{ $parts._1 }}}
{{- end -}}

{{/* The receiver of an AlertmanagerConfig. Called with (dict "root" $ "name" "default"). */}}
{{- define "edge-telemetry.operatorReceiver" -}}
{{- $alertmanager := .root.Values.alertmanager }}
{{- with get $alertmanager.receivers .name -}}
{{- with .webhookUrl }}
webhookConfigs:
  - {url: {{ . | quote }}, sendResolved: true}
{{- end }}
{{- with .mailTo }}
emailConfigs:
  - to: {{ . | quote }}
    from: {{ $alertmanager.smtp.from | quote }}
    smarthost: {{ $alertmanager.smtp.smarthost | quote }}
    sendResolved: true
    {{- with $alertmanager.smtp.username }}
    authUsername: {{ . | quote }}
    {{- end }}
    {{- with $alertmanager.smtp.passwordSecret }}
    {{- if .name }}
    authPassword: {name: {{ .name }}, key: {{ .key }}}
    {{- end }}
    {{- end }}
{{- end }}
{{- end }}
{{- end -}}
