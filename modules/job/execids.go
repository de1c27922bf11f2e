package job

// The problems and hints about what a job runs, beside those that all types share.
const (
	idPointer      = "exec.pointer"
	idTLSInsecure  = "exec.tls_insecure"
	idTLSPair      = "exec.tls_pair"
	idPathRelative = "exec.path"
	idExecBoth     = "exec.both"
	idExecOneOf    = "exec.one_of"
	idInterpreter  = "exec.interpreter"
	idSourceNobody = "exec.source_nobody"
	idUserNobody   = "exec.user_nobody"

	hintPointer     = "pointer"
	hintTLSInsecure = "tls_insecure"
	hintSource      = "source_nobody"
	hintUser        = "user_nobody"
)
