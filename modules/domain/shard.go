package domain

import "slices"

// MaxShards is into how many shards a job may ask to have its runs split. A broadcast has as many
// as there are workers.
const MaxShards = 1000

// Sharding says whether a row is split into shards or is one of them. A shard has a row
// like an instance's, which moves as an instance does: it is sent, retried, lost and killed by
// itself. It is not an instance: no list, count or dependency sees it, only the instance of
// which it is a part, whose run and trace id it carries. The zero value is a row that is
// neither, whose task is shard 0 of 1.
type Sharding struct {
	PartOf ID  // of a shard: its instance; 0 = the row is an instance's
	Shard  int // of a shard: which one, from 0
	Shards int // of how many; of an instance: into how many its run in force was split, 0 = it was not
	// Worker is of a shard of a broadcast the only worker that may run it; "" = any.
	Worker string
}

// IsShard reports whether the row is a shard's.
func (s Sharding) IsShard() bool { return s.PartOf != 0 }

// IsSplit reports whether the row is an instance's whose run in force was split: it is sent
// nowhere itself, and stands as its shards do.
func (s Sharding) IsSplit() bool { return s.PartOf == 0 && s.Shards > 0 }

// Total is of how many shards the row's task is one: at least 1.
func (s Sharding) Total() int { return max(s.Shards, 1) }

// Split asks that the run of a ready instance be split.
type Split struct {
	Instance Instance // as it was read
	Shards   int
	// Workers, of a broadcast, names for each shard the only worker that may run it.
	Workers []string
}

// OfInstances are the changes without those of shards; nearly always all.
func OfInstances(changes []Change) []Change {
	ofShard := func(c Change) bool { return c.Instance.IsShard() }
	if !slices.ContainsFunc(changes, ofShard) {
		return changes
	}
	return slices.DeleteFunc(slices.Clone(changes), ofShard)
}
