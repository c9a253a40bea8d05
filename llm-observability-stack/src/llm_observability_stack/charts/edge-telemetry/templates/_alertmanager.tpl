{{/* alertmanager.yml. */}}
{{- define "edge-telemetry.alertmanagerConfig" -}}
{{- $alertmanager := .Values.alertmanager }}
{{- $receivers := $alertmanager.receivers }}
{{- $mail := or $receivers.default.mailTo $receivers.critical.mailTo }}
{{- if $mail }}
{{- if not (and $alertmanager.smtp.smarthost $alertmanager.smtp.from) }}
{{- fail "alertmanager.receivers: mailTo needs alertmanager.smtp.smarthost and alertmanager.smtp.from" }}
{{- end -}}
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
  receiver: {{ ternary "default" "null" (ne (print $receivers.default.webhookUrl $receivers.default.mailTo) "") | quote }}
  group_by: [alertname, node, rung]
  group_wait: {{ $alertmanager.groupWait }}
  group_interval: {{ $alertmanager.groupInterval }}
  repeat_interval: {{ $alertmanager.repeatInterval }}
  routes:
    # Always firing, to prove that rules reach Alertmanager: nobody is to be woken by it.
    - receiver: "null"
      matchers: ['alertname="Watchdog"']
    - receiver: critical
      matchers: ['severity="critical"']
      repeat_interval: 1h
receivers:
  - name: "null"
  - name: default
    {{- with include "edge-telemetry.receiver" $receivers.default }}{{ . | nindent 4 }}{{ end }}
  - name: critical
    {{- with include "edge-telemetry.receiver" $receivers.critical }}{{ . | nindent 4 }}{{ end }}
inhibit_rules:
  # A dead node hides what ran on it; it says nothing of other nodes. Its own contract says the same as the alert.
  - source_matchers: ['alertname="NodeDown"']
    target_matchers: ['alertname!="NodeDown"', 'node!=""']
    equal: [node]
  - source_matchers: ['alertname="NodeDown"']
    target_matchers: ['alertname="ContractFailing"', 'contract="gpu.node-ready"']
  # A broken lower layer hides its consequences above. Layer 3 hides nothing and is hidden by a dead node only: whether
  # metrics arrive does not depend on the card. Wear hides nothing: a card that is to be replaced some day must not keep
  # silent for weeks that Ollama is down.
  - source_matchers: ['layer="0"', 'severity="critical"', 'alertname=~"ContractFailing|GpuXid"']
    target_matchers: ['layer=~"1|2|profile"']
    equal: [node]
  - source_matchers: ['layer="1"', 'severity="critical"', 'alertname="ContractFailing"']
    target_matchers: ['layer=~"2|profile"']
    equal: [node]
  - source_matchers: ['layer="2"', 'severity="critical"', 'alertname=~"ContractFailing|OllamaDown"']
    target_matchers: ['layer="profile"']
    equal: [node]
  # Two words for one thing: the more telling one is kept.
  - source_matchers: ['alertname="OllamaDown"']
    target_matchers: ['alertname="ContractFailing"', 'rung="serving"']
    equal: [node]
  # Critical says all that warning says of the same thing.
  - source_matchers: ['severity="critical"']
    target_matchers: ['severity=~"warning|info"']
    equal: [alertname, node, model, contract, gpu, pod, volume]
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
