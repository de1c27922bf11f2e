package job

import "strconv"

func (d *draft) sql(e entry, rest []entry) map[string]any {
	spec := d.settings(rest, "sql", map[string]func(entry) (any, bool){
		"source":      func(c entry) (any, bool) { return d.word(c) },
		"sql":         func(c entry) (any, bool) { return d.statements(c) },
		"transaction": func(c entry) (any, bool) { return d.boolean(c) },
	})
	d.need(e, spec, "sql", "source")
	d.need(e, spec, "sql", "sql")
	return spec
}

// statements reads a text of statements, or a list of texts each of which is one.
func (d *draft) statements(e entry) (any, bool) {
	if _, single := scalar(e.node); single {
		return d.filled(e)
	}
	items, ok := d.items(e)
	if !ok {
		return nil, false
	}
	if len(items) == 0 || len(items) > maxListItems {
		d.add(e.at, e.path, idListLong, "", "key", e.key, "n", strconv.Itoa(len(items)), "max", strconv.Itoa(maxListItems))
		return nil, false
	}
	out := make([]string, len(items))
	for i, it := range items {
		s, fine := d.filled(it)
		out[i], ok = s, ok && fine
	}
	return out, ok
}
