// Package zone gives time zones from the data compiled into the binary, the same on
// every node: it owns the embedded database and reads nothing of the host.
package zone

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// zoneArchive is the IANA time-zone database as Go ships it, lib/time/zoneinfo.zip.
//
// time.LoadLocation is not used, since it prefers the host's files and $ZONEINFO over
// embedded data, and two nodes with different hosts would compute different instants.
//
//go:embed zoneinfo.zip
var zoneArchive []byte

// zones holds what the archive says, read once; it never changes, only fills.
var zones = sync.OnceValues(openZones)

type zoneIndex struct {
	files  map[string]*zip.File
	folded map[string]string // lower case → right case, for hints
	mu     sync.Mutex
	loaded map[string]*time.Location
}

func openZones() (*zoneIndex, error) {
	archive, err := zip.NewReader(bytes.NewReader(zoneArchive), int64(len(zoneArchive)))
	if err != nil {
		return nil, fmt.Errorf("reading the embedded time-zone data: %w", err)
	}
	x := &zoneIndex{files: map[string]*zip.File{}, folded: map[string]string{}, loaded: map[string]*time.Location{}}
	for _, f := range archive.File {
		if f.FileInfo().IsDir() || f.Name == "Factory" { // Factory means "not set up"
			continue
		}
		x.files[f.Name] = f
		x.folded[strings.ToLower(f.Name)] = f.Name
	}
	return x, nil
}

// Load returns the zone of an IANA name (Asia/Shanghai, UTC) from the data compiled
// into the binary. It never reads the host's files or environment; "" and "Local", which
// mean whatever the host says, are refused. The same name gives the same pointer.
func Load(name string) (*time.Location, error) {
	x, err := zones()
	if err != nil {
		return nil, err
	}
	if name == "UTC" {
		return time.UTC, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if loc := x.loaded[name]; loc != nil {
		return loc, nil
	}
	f := x.files[name]
	if f == nil {
		return nil, x.unknown(name)
	}
	loc, err := readZone(f)
	if err != nil {
		return nil, fmt.Errorf("reading the embedded time zone %s: %w", name, err)
	}
	x.loaded[name] = loc
	return loc, nil
}

func (x *zoneIndex) unknown(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("the time zone is empty; write an IANA name such as Asia/Shanghai or UTC")
	case strings.EqualFold(name, "local"):
		return fmt.Errorf("the time zone %.40q differs from host to host; write an IANA name such as Asia/Shanghai or UTC", name)
	}
	if right, ok := x.folded[strings.ToLower(name)]; ok {
		return fmt.Errorf("there is no time zone %.40q; did you mean %s?", name, right)
	}
	return fmt.Errorf("there is no time zone %.40q; write an IANA name such as Asia/Shanghai or UTC", name)
}

// Names lists every zone there is, sorted.
func Names() ([]string, error) {
	x, err := zones()
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(x.files)), nil
}

func readZone(f *zip.File) (*time.Location, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return time.LoadLocationFromTZData(f.Name, data)
}
