package main

import "slices"

// incidents counts what AX told of and the fault did not call for; nil where AX keeps no incidents.
func (t *trial) incidents(calledFor []string) *int {
	there, err := t.number("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'incident'")
	t.Must(err, "looking for incidents")
	if there == 0 {
		return nil
	}
	needless := 0
	err = t.stage.each(func(scan func(...any) error) error {
		var kind, name, message string
		err := scan(&kind, &name, &message)
		if !slices.Contains(calledFor, kind) {
			needless++
			t.Say("an incident that the fault did not call for: %s %s: %s", kind, name, message)
		}
		return err
	}, "SELECT kind, name, message FROM incident ORDER BY id")
	t.Must(err, "reading the incidents")
	return &needless
}
