package center

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// A process that is told to stop answers what is under way before it ends, and cuts off what takes too long.
func TestStoppingAnswersWhatIsUnderWay(t *testing.T) {
	for name, finishes := range map[string]bool{"in time": true, "too long": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(Options{})
			entered, told := make(chan struct{}), make(chan struct{})
			s.mux.HandleFunc("GET /slow", func(w http.ResponseWriter, r *http.Request) {
				close(entered)
				<-told
				if !finishes {
					<-r.Context().Done()
					return
				}
				if r.Context().Err() == nil {
					_, _ = io.WriteString(w, "done")
				}
			})
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			served, got := make(chan error, 1), make(chan string, 1)
			go func() { served <- s.serve(ctx, ln) }()
			go func() {
				resp, err := http.Get("http://" + ln.Addr().String() + "/slow")
				if err != nil {
					got <- "cut off"
					return
				}
				defer func() { _ = resp.Body.Close() }()
				body, _ := io.ReadAll(resp.Body)
				got <- string(body)
			}()
			<-entered
			stop()
			for { // until nobody is let in any more
				conn, err := net.Dial("tcp", ln.Addr().String())
				if err != nil {
					break
				}
				_ = conn.Close()
			}
			close(told)
			if body := <-got; (body == "done") != finishes {
				t.Errorf("the request under way got %q", body)
			}
			select {
			case err := <-served:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(2 * stopPatience):
				t.Error("the server does not stop")
			}
		})
	}
}
