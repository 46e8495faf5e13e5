{{- define "paritect.labels" -}}
app.kubernetes.io/part-of: paritect
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "paritect.server" -}}
{{ .Values.agent.server | default (printf "%s-server.%s.svc:7400" .Release.Name .Release.Namespace) }}
{{- end }}
{{- define "paritect.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
