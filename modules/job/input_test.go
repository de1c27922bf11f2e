package job

import (
	"reflect"
	"strings"
	"testing"

	"github.com/axsched/ax/modules/domain"
)

func TestInputsAndOutputsAreRead(t *testing.T) {
	text := jobYAML(`  inputs:
    - {name: mode, type: choice, choices: [full, delta], default: delta, title: 装载方式}
    - {name: tables, type: multi_choice, choices: [orders, 007]}
    - {name: source, type: file, required: true, pattern: '/data/.*\.csv'}
    - name: since
      type: date
      default: "{{biz_date-1d}}"
    - {name: password, type: secret, choices: [db_prod]}
    - name: note
  outputs: [rows, file]
`)
	p := parseOne(t, text)
	want := []domain.Input{
		{Name: "mode", Type: domain.InputChoice, Choices: []string{"full", "delta"}, Default: "delta", Title: "装载方式"},
		{Name: "tables", Type: domain.InputChoices, Choices: []string{"orders", "007"}},
		{Name: "source", Type: domain.InputFile, Required: true, Pattern: `/data/.*\.csv`},
		{Name: "since", Type: domain.InputDate, Default: "{{biz_date-1d}}"},
		{Name: "password", Type: domain.InputSecret, Choices: []string{"db_prod"}},
		{Name: "note", Type: domain.InputText},
	}
	if !reflect.DeepEqual(p.Spec.Inputs, want) || !reflect.DeepEqual(p.Spec.Outputs, []string{"rows", "file"}) {
		t.Errorf("inputs %+v, outputs %v", p.Spec.Inputs, p.Spec.Outputs)
	}
	if names := p.namesSecrets(); !reflect.DeepEqual(names, []string{"db_prod"}) {
		t.Errorf("secrets %v", names)
	}
	if other := parseOne(t, strings.Replace(text, "default: delta", "default: full", 1)); other.Spec.Digest() == p.Spec.Digest() {
		t.Error("another default is the same definition")
	}
	if plain := parseOne(t, jobYAML("")); plain.Spec.Inputs != nil || plain.Spec.Outputs != nil {
		t.Errorf("out of nothing: %+v", plain.Spec)
	}
}
