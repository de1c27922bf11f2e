package job

import (
	"fmt"
	"strings"
	"testing"

	"github.com/axsched/ax/modules/domain"
)

// What is asked for stays, however many others come; the others go, and memory stays bounded, by number and by bytes.
func TestVersionsInUseStayAndMemoryIsBounded(t *testing.T) {
	for name, size := range map[string]int{"many": 0, "large": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			var v Versions
			others, weight := 5*generation, 0
			if size > 0 {
				others = 500
			}
			for i := range domain.ID(others) {
				v.put(i+10, 1, domain.JobSpec{Name: fmt.Sprint(i), Description: strings.Repeat("x", size)})
				if i == 0 {
					v.put(1, 7, domain.JobSpec{Name: "used"})
				}
				if s, ok := v.get(1, 7); !ok || s.Name != "used" {
					t.Fatalf("after %d others the version in use is %v %v", i, s.Name, ok)
				}
				if _, ok := v.get(1, 8); ok {
					t.Fatal("another version was found")
				}
			}
			for _, m := range []map[domain.JobVersion]domain.JobSpec{v.young, v.old} {
				for _, s := range m {
					weight += weigh(s)
				}
			}
			if n := len(v.young) + len(v.old); n > 2*generation || weight > 2*generationWeight {
				t.Errorf("%d versions of %d bytes are kept", n, weight)
			}
			if s, ok := v.get(domain.ID(others)+9, 1); !ok || s.Name != fmt.Sprint(others-1) {
				t.Errorf("the last one is %v %v", s.Name, ok)
			}
		})
	}
}
