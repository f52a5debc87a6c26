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
{{- /* Scripts wait in the brokers, which are fair, and not at sandboxd: each broker has its share of all places. */ -}}
{{- $s := .Values.sandboxd -}}
{{- $places := mul $s.maxExecutions (ternary $s.autoscaling.maxReplicas $s.replicas $s.autoscaling.enabled) -}}
{{- $share := div $places (ternary .Values.autoscaling.maxReplicas .Values.replicas .Values.autoscaling.enabled) | max 1 | min 1000 -}}
{{- $config = merge $config (dict "broker" (dict "sandbox" (dict "remote" $remote "maxExecutions" $share))) -}}
{{- end -}}
{{- toPrettyJson $config -}}
{{- end -}}

{{- define "broker.sandboxd.selector" -}}
app.kubernetes.io/name: broker-sandboxd
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
