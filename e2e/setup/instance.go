package setup

import (
	"fmt"
	"strings"
	"time"
)

// Instance is an instance as the API and the command line show it.
type Instance struct {
	ID           string    `json:"id"`
	Job          string    `json:"job"`
	TraceID      string    `json:"traceId"`
	BizDate      string    `json:"bizDate"`
	ExpectedTime string    `json:"expectedTime"`
	State        string    `json:"state"`
	Label        string    `json:"label"`
	Why          string    `json:"why"`
	Attempts     []Attempt `json:"attempts"`
}

// Attempt is one sending of it.
type Attempt struct {
	ID           string `json:"id"`
	Target       string `json:"target"`
	DispatchedAt string `json:"dispatchedAt"`
	AckedAt      string `json:"ackedAt"`
	StartedAt    string `json:"startedAt"`
	FinishedAt   string `json:"finishedAt"`
	ExitCode     *int   `json:"exitCode"`
	Outcome      string `json:"outcome"`
}

// Status is "state/label", or the state alone.
func (i Instance) Status() string {
	if i.Label == "" {
		return i.State
	}
	return i.State + "/" + i.Label
}

// Ended reports whether nothing more happens unless it is rerun.
func (i Instance) Ended() bool {
	return i.State == "success" || i.State == "failed" || i.State == "cancelled"
}

// String is for messages of tests.
func (i Instance) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s for %s: %s; %s", i.ID, i.Job, i.BizDate, i.Status(), i.Why)
	for _, a := range i.Attempts {
		fmt.Fprintf(&b, "\n  attempt %s on %s: started %q finished %q outcome %q", a.ID, a.Target, a.StartedAt, a.FinishedAt, a.Outcome)
	}
	return b.String()
}

// Trigger fires a job by hand and returns the new instance.
func (c *Client) Trigger(job string, args ...string) Instance {
	c.t.Helper()
	var i Instance
	c.JSON(&i, append([]string{"trigger", job}, args...)...)
	if i.ID == "" || i.TraceID == "" {
		c.t.Fatalf("ax trigger %s returned no id or no trace id: %+v", job, i)
	}
	return i
}

// Instance reads one.
func (c *Client) Instance(id string) Instance {
	c.t.Helper()
	i, err := c.instance(id)
	if err != nil {
		c.t.Fatalf("%v", err)
	}
	return i
}

func (c *Client) instance(id string) (Instance, error) {
	var i Instance
	err := c.Get("/api/v1/instances/"+id, &i)
	return i, err
}

// Instances lists by the command line with its filters, all pages.
func (c *Client) Instances(filters ...string) []Instance {
	c.t.Helper()
	var page struct {
		Instances []Instance `json:"instances"`
	}
	c.JSON(&page, append([]string{"instances"}, filters...)...)
	return page.Instances
}

// waitLimit is how long anything awaited may take unless a test says less.
const waitLimit = 60 * time.Second

// Until waits until cond agrees, asking each 50 ms. what names it in the failure; on failure say adds what is known.
func Until(t T, limit time.Duration, what string, cond func() bool, say func() string) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(50 * time.Millisecond) {
		if cond() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s\n%s", limit, what, say())
		}
	}
}

// Await waits until the instance has the status: a state, or state/label. An end with another status fails at once.
func (c *Client) Await(id, status string) Instance {
	c.t.Helper()
	return c.AwaitWithin(waitLimit, id, status)
}

// AwaitWithin is Await with a limit of its own. Calls that fail are repeated: centers are killed in these tests.
func (c *Client) AwaitWithin(limit time.Duration, id, status string) Instance {
	c.t.Helper()
	var last Instance
	var err error
	Until(c.t, limit, "instance "+id+" is "+status, func() bool {
		var got Instance
		if got, err = c.instance(id); err != nil {
			return false
		}
		last = got
		if last.Status() == status || last.State == status {
			return true
		}
		if last.Ended() {
			c.t.Fatalf("instance %s should become %s, and ended otherwise: %v", id, status, last)
		}
		return false
	}, func() string { return fmt.Sprintf("%v (error %v)", last, err) })
	return last
}

// AwaitOf waits until some instance of the job has the status and returns it.
func (c *Client) AwaitOf(job, status string, filters ...string) Instance {
	c.t.Helper()
	var found Instance
	var seen []Instance
	Until(c.t, waitLimit, "an instance of "+job+" is "+status, func() bool {
		seen = c.Instances(append([]string{"--job", job}, filters...)...)
		for _, i := range seen {
			if i.Status() == status || i.State == status {
				found = i
				return true
			}
		}
		return false
	}, func() string { return fmt.Sprintf("seen: %v", seen) })
	return found
}

// Logs are the lines of the instance's log as the command line prints them.
func (c *Client) Logs(id string) string {
	c.t.Helper()
	return c.Must("logs", id)
}

// AwaitLog waits until the log has the text.
func (c *Client) AwaitLog(id, text string) {
	c.t.Helper()
	last := ""
	Until(c.t, waitLimit, "the log of "+id+" has "+text, func() bool {
		last = c.Logs(id)
		return strings.Contains(last, text)
	}, func() string { return last })
}
