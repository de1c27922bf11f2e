// Package httpx is the edge between AX and browsers, programs and tools.
//
// It owns: the table of routes (none without an action that the policy knows),
// who the caller is, sessions and CSRF, body limits, the one translation of
// domain kinds into HTTP, idempotent creating calls, event streams, and the
// frame that pages stand in. It knows no table and no page of a module: what it
// needs of them it asks through the ports of ports.go. Outside of it, echo is
// used only by the web folders of modules.
//
// A module's web folder is written like this:
//
//	type Handlers struct{ Jobs *job.Jobs }
//
//	func (h *Handlers) Routes() []httpx.Route {
//		return []httpx.Route{
//			{Method: "GET", Path: "/jobs", Action: domain.ActJobRead, Handler: h.list},
//			{Method: "GET", Path: "/api/v1/jobs", Action: domain.ActJobRead, Handler: h.apiList},
//			{Method: "POST", Path: "/api/v1/jobs/:id/trigger", Action: domain.ActInstanceTrigger, Creating: true, Handler: h.apiTrigger},
//			{Method: "POST", Path: "/jobs/:id/trigger", Action: domain.ActInstanceTrigger, Creating: true, Handler: h.trigger},
//			{Method: "GET", Path: "/instances/:id/log/stream", Action: domain.ActLogRead, Stream: true, Handler: h.tail},
//		}
//	}
//
//	// A list asks what may be seen, and hands the set to the query.
//	func (h *Handlers) list(c echo.Context) error {
//		ctx := c.Request().Context()
//		rows, err := h.Jobs.List(ctx, httpx.Visible(ctx, domain.ActJobRead))
//		if err != nil {
//			return err // translated once, at the edge
//		}
//		return httpx.Render(c, http.StatusOK, jobs.List(jobs.ListPage{Shell: httpx.Shell(c), …}))
//	}
//
//	// A handler of one object checks the project of that object. A project that the
//	// caller has no role in answers like one that is not there.
//	func (h *Handlers) apiTrigger(c echo.Context) error {
//		var in struct{ BizDate domain.BizDate `json:"bizDate"` }
//		if err := httpx.ReadJSON(c, &in); err != nil {
//			return err
//		}
//		return httpx.Once(c, func(ctx context.Context) (int, any, error) { // one transaction with the record of the key
//			j, err := h.Jobs.Get(ctx, c.Param("id"))
//			if err != nil {
//				return 0, nil, err
//			}
//			if err := httpx.Allow(ctx, j.ProjectID, domain.ActInstanceTrigger); err != nil {
//				return 0, nil, err
//			}
//			…
//			return http.StatusCreated, answer, nil
//		})
//	}
//
//	// A form does the same and ends in a redirect.
//	func (h *Handlers) trigger(c echo.Context) error {
//		form, err := httpx.Form(c)
//		…
//		return httpx.OnceForm(c, func(ctx context.Context) (location string, err error) { … })
//	}
//
//	// A stream sends until its context ends; comments keep it open in between.
//	func (h *Handlers) tail(c echo.Context) error {
//		… check and open first: errors before Stream get a proper answer …
//		return httpx.Stream(c, func(ctx context.Context, s *httpx.Events) error {
//			return s.Send(httpx.Event{ID: "12", Data: data})
//		})
//	}
//
// More: Can asks whether to offer a button; Explain gives status and words for a
// handler that shows an error in its own form; WithProblems adds a list to an API
// error; Cursor, ReadCursor and Limit page by key; ParamID, Form and Body read;
// Redirect and LocalPath keep people within AX; Assets serves static; Document is the
// OpenAPI description of all routes, to which each adds its Doc. Programs
// whose User-Agent begins with "ax/" are audited as cli, other tokens as api.
//
// Rules that hold for every route without a handler's help: unknown callers get
// 401 or the login page; a caller who has the route's action in no project gets
// 403; changes by browsers need the CSRF token (hidden input "csrf" or header
// X-CSRF-Token) and the same origin; bodies over the limit get 413, NUL bytes and
// text that is not UTF-8 get 400; a refused change is audited.
package httpx
