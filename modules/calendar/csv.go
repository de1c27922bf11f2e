package calendar

import (
	"encoding/csv"
	"errors"
	"io"
	"strings"

	"github.com/axsched/ax/modules/domain"
)

// kindOf reads the word for a kind of day; false when it is none.
func kindOf(word string) (work, ok bool) {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "holiday", "off", "rest", "休", "休息", "放假", "节假日":
		return false, true
	case "workday", "work", "班", "上班", "补班", "工作日":
		return true, true
	}
	return false, false
}

// columns finds the columns by their heads.
func columns(head []string) (date, kind, label int, ok bool) {
	date, kind, label = -1, -1, -1
	for i, h := range head {
		at := map[string]*int{"date": &date, "日期": &date, "kind": &kind, "type": &kind, "类型": &kind, "label": &label, "name": &label, "名称": &label}[strings.ToLower(strings.TrimSpace(h))]
		if at == nil || *at >= 0 {
			return 0, 0, 0, false
		}
		*at = i
	}
	return date, kind, label, date >= 0 && kind >= 0
}

// readCSV reads a head (date,kind,label in any order, label may be left out) and a line for each day
// or stretch of days.
func (s *Sheet) readCSV(n *notes, text string) {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = -1
	head, err := r.Read()
	if err != nil {
		n.add(1, 1, "csv_head")
		return
	}
	date, kind, label, ok := columns(head)
	if !ok {
		n.add(1, 1, "csv_head")
		return
	}
	for {
		row, err := r.Read()
		if err == io.EOF {
			return
		}
		var broken *csv.ParseError
		if errors.As(err, &broken) {
			n.add(broken.Line, max(broken.Column, 1), "csv_broken", "reason", broken.Err.Error())
			return
		}
		at := func(i int) (line, column int) {
			line, column = r.FieldPos(i)
			if line <= len(n.lines) {
				column = len([]rune(n.lines[line-1][:min(column-1, len(n.lines[line-1]))])) + 1
			}
			return line, column
		}
		line, column := at(0)
		if len(row) != len(head) {
			n.add(line, column, "csv_fields", "n", itoa(len(row)), "want", itoa(len(head)))
			continue
		}
		s.csvRow(n, row, [3]int{date, kind, label}, at)
	}
}

func (s *Sheet) csvRow(n *notes, row []string, cols [3]int, at func(int) (int, int)) {
	line, column := at(cols[0])
	first, last, ok := n.dates(line, column, strings.TrimSpace(row[cols[0]]))
	kindLine, kindColumn := at(cols[1])
	work, known := kindOf(row[cols[1]])
	if !known {
		n.add(kindLine, kindColumn, "kind", "value", row[cols[1]])
	}
	day := domain.CalendarDay{Work: work}
	if cols[2] >= 0 {
		labelLine, labelColumn := at(cols[2])
		var fine bool
		day.Label, fine = n.label(labelLine, labelColumn, row[cols[2]])
		known = known && fine
	}
	if !ok || !known {
		return
	}
	for d := first; !last.Before(d); d = d.AddDays(1) {
		s.put(n, line, column, d, day, false)
	}
}
