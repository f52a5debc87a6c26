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
