{{- define "broker.name" -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "broker.selector" -}}
app.kubernetes.io/name: broker
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "broker.labels" -}}
{{ include "broker.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "broker.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- if .Values.sandboxd.enabled -}}
{{- $address := printf "%s-sandboxd.%s.svc:9443" (include "broker.name" .) .Release.Namespace -}}
{{- $dir := "/etc/broker-sandboxd" -}}
{{- $remote := dict "addresses" (list $address) "ca" (printf "%s/ca.crt" $dir) "cert" (printf "%s/tls.crt" $dir) "key" (printf "%s/tls.key" $dir) -}}
{{- $config = merge $config (dict "broker" (dict "sandbox" (dict "remote" $remote))) -}}
{{- end -}}
{{- toPrettyJson $config -}}
{{- end -}}

{{- define "broker.sandboxd.selector" -}}
app.kubernetes.io/name: broker-sandboxd
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
