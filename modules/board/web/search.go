package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/board"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	view "github.com/axsched/ax/views/search"
	"github.com/axsched/ax/views/ui"
)

// search leads to the one thing that is called what was typed, else lists what comes
// near it.
func (h *Handlers) search(c echo.Context) error {
	ctx, text := c.Request().Context(), strings.TrimSpace(c.QueryParam("q"))
	found, err := h.Search.Find(ctx, text, board.Sight{Jobs: httpx.Visible(ctx, domain.ActJobRead),
		Instances: httpx.Visible(ctx, domain.ActInstanceRead), Workers: !httpx.Visible(ctx, domain.ActWorkerRead).Empty()})
	if err != nil {
		return err
	}
	if len(found.Exact) == 1 {
		return httpx.Redirect(c, hitURL(found.Exact[0]))
	}
	p := view.Page{Shell: httpx.Shell(c), Text: text}
	p.Query = text
	for _, hit := range found.Exact {
		switch {
		case hit.Job != nil:
			p.Jobs = append(p.Jobs, jobRef(*hit.Job))
		case hit.Instance != nil:
			p.Instances = append(p.Instances, ui.Ref{ID: hit.Instance.ID.String(), URL: hitURL(hit)})
		default:
			p.Workers = append(p.Workers, ui.Ref{ID: hit.Worker, URL: hitURL(hit)})
		}
	}
	for _, n := range found.Jobs {
		p.Jobs = append(p.Jobs, jobRef(n))
	}
	for _, name := range found.Workers {
		p.Workers = append(p.Workers, ui.Ref{ID: name, URL: hitURL(board.Hit{Worker: name})})
	}
	if len(found.Jobs) == board.MaxLike {
		p.AllJobs = "/jobs?q=" + url.QueryEscape(text)
	}
	return httpx.Render(c, http.StatusOK, view.Results(p))
}

func jobRef(n domain.JobName) ui.Ref {
	return ui.Ref{ID: n.Key.String(), Title: n.Title, URL: jobURL(n.ID)}
}

// hitURL is the page of what was found.
func hitURL(hit board.Hit) string {
	switch {
	case hit.Job != nil:
		return jobURL(hit.Job.ID)
	case hit.Instance != nil:
		return instanceURL(hit.Instance.ID)
	}
	return (&url.URL{Path: "/workers", Fragment: "worker-" + hit.Worker}).String()
}
