// Package mask keeps secrets out of what a task says: it replaces every place in a text where one of them stands, as it
// is or in a common encoding, by ***.
//
// It owns which writings of a secret count (variants.go) and the search. It knows no output, no message and no result;
// whoever passes these on drives it. It is in the contract because center and worker both pass on what tasks say.
package mask

// Stars stand where a secret was.
const Stars = "***"

// Least is the fewest characters of a secret: shorter ones stand everywhere in ordinary text.
const Least = 4

// Masker finds a set of secrets. A nil one finds nothing. Safe for concurrent use.
//
// It is an Aho–Corasick automaton: nodes are the beginnings of the writings, each knows its longest proper ending that is
// a beginning too. Its size is that of all writings together; a search looks at each byte once or twice.
type Masker struct {
	nodes []node
	root  [256]int32 // the children of the root, 0 = none
}

// node is one beginning of a writing. Node 0 is the root.
type node struct {
	child, sibling int32
	fail           int32
	depth          int32
	match          int32 // the length of the longest writing that ends here; 0 = none does
	by             byte
}

// New makes a masker of secrets; nil if there is none that is at least Least bytes long.
func New(secrets []string) *Masker {
	if len(secrets) == 0 {
		return nil
	}
	m := &Masker{nodes: make([]node, 1)}
	for _, s := range secrets {
		for _, w := range writings(s) {
			m.add(w)
		}
	}
	if len(m.nodes) == 1 {
		return nil
	}
	m.link()
	return m
}

func (m *Masker) add(w string) {
	at := int32(0)
	for i := range len(w) {
		next := m.step(at, w[i])
		if next == 0 {
			next = int32(len(m.nodes))
			m.nodes = append(m.nodes, node{sibling: m.nodes[at].child, depth: m.nodes[at].depth + 1, by: w[i]})
			m.nodes[at].child = next
			if at == 0 {
				m.root[w[i]] = next
			}
		}
		at = next
	}
	m.nodes[at].match = m.nodes[at].depth
}

// step is the child of a node by a byte, 0 if there is none.
func (m *Masker) step(at int32, b byte) int32 {
	if at == 0 {
		return m.root[b]
	}
	for c := m.nodes[at].child; c != 0; c = m.nodes[c].sibling {
		if m.nodes[c].by == b {
			return c
		}
	}
	return 0
}

// link finds for each node, those nearer to the root first, its longest proper ending.
func (m *Masker) link() {
	queue := []int32{0}
	for i := 0; i < len(queue); i++ {
		at := queue[i]
		for c := m.nodes[at].child; c != 0; c = m.nodes[c].sibling {
			if at != 0 {
				m.nodes[c].fail = m.next(m.nodes[at].fail, m.nodes[c].by)
			}
			m.nodes[c].match = max(m.nodes[c].match, m.nodes[m.nodes[c].fail].match)
			queue = append(queue, c)
		}
	}
}

// next is where the automaton is after one more byte.
func (m *Masker) next(at int32, b byte) int32 {
	for {
		if to := m.step(at, b); to != 0 || at == 0 {
			return to
		}
		at = m.nodes[at].fail
	}
}

// String masks a whole text.
func (m *Masker) String(text string) string {
	if m == nil || !m.In(text) {
		return text
	}
	s := Stream{m: m}
	out := s.Write(nil, []byte(text))
	return string(s.Close(out))
}

// Cut masks a text whose end was cut off: what may be the beginning of a secret there is left out.
func (m *Masker) Cut(text string) string {
	if m == nil {
		return text
	}
	return string(m.Stream().Write(nil, []byte(text)))
}

// In reports whether a secret stands in the text.
func (m *Masker) In(text string) bool {
	if m == nil {
		return false
	}
	at := int32(0)
	for i := range len(text) {
		if at = m.next(at, text[i]); m.nodes[at].match > 0 {
			return true
		}
	}
	return false
}

// Stream masks a text that comes in pieces, also where a secret begins in one and ends in a later one. It holds back no
// more than what may be the beginning of a secret. Not safe for concurrent use. The zero value masks nothing.
type Stream struct {
	m      *Masker
	at     int32
	held   []byte // not passed on yet
	hidden []bool // which bytes of held are part of a secret
	stars  bool   // the last that was passed on were stars, and what follows at once and is secret belongs to them
}

// Stream begins one.
func (m *Masker) Stream() *Stream { return &Stream{m: m} }

// Write takes a piece and appends to out what of the text can be passed on.
func (s *Stream) Write(out, piece []byte) []byte {
	if s.m == nil {
		return append(out, piece...)
	}
	m := s.m
	for i := 0; i < len(piece); {
		if s.at == 0 && len(s.held) == 0 { // plain text, byte after byte
			from := i
			for i < len(piece) && m.root[piece[i]] == 0 {
				i++
			}
			if i > from {
				s.stars = false
				out = append(out, piece[from:i]...)
				continue
			}
		}
		s.held, s.hidden = append(s.held, piece[i]), append(s.hidden, false)
		s.at = m.next(s.at, piece[i])
		i++
		for k := len(s.hidden) - int(m.nodes[s.at].match); k < len(s.hidden); k++ {
			s.hidden[k] = true
		}
		out = s.pass(out, len(s.held)-int(m.nodes[s.at].depth))
	}
	return out
}

// pass passes on the first n bytes of what is held: no secret that is still to be found can begin before their end. Each
// stretch that is hidden becomes stars.
func (s *Stream) pass(out []byte, n int) []byte {
	for k := range n {
		switch {
		case !s.hidden[k]:
			out = append(out, s.held[k])
		case !s.stars:
			out = append(out, Stars...)
		}
		s.stars = s.hidden[k]
	}
	s.held, s.hidden = s.held[:copy(s.held, s.held[n:])], s.hidden[:copy(s.hidden, s.hidden[n:])]
	return out
}

// Close appends what was held back: the text is over, so that it is no beginning of a secret.
func (s *Stream) Close(out []byte) []byte {
	s.at = 0
	return s.pass(out, len(s.held))
}
