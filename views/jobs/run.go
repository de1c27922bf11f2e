package jobs

import (
	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/ui"
)

// RunPage is the form that starts a job which declares inputs. Fields posted: biz_date, param.NAME for each input, reason.
type RunPage struct {
	layout.Shell
	Job     ui.Ref
	Paused  bool
	Save    ui.Action
	BizDate string
	Reason  string
	Fields  []RunField
	Errors  []ui.FieldError
	Error   string
	Key     string
}

// RunField is one input. Options are what may be chosen; Several says that more than one may.
type RunField struct {
	Name, Label, Help string
	Kind              string // text, number, date, file, choice
	Value             string
	Values            []string // of several
	Options           []ui.Option
	Several           bool
	Required          bool
}

// field is the name under which an input is posted.
func (f RunField) field() string { return "param." + f.Name }
