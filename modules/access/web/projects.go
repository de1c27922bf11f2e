package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/access"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/httpx"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/projects"
	"github.com/axsched/ax/views/ui"
)

type apiProject struct {
	ID    domain.ID `json:"id"`
	Name  string    `json:"name"`
	Title string    `json:"title"`
	// Networks are the private networks and loopback addresses that its tasks may connect to.
	Networks []string `json:"networks"`
}

func docOf(p access.Project) apiProject {
	return apiProject{ID: p.ID, Name: p.Name, Title: p.Title, Networks: append([]string{}, p.Networks...)}
}

type apiProjects struct {
	Projects []apiProject `json:"projects"`
	Cursor   string       `json:"cursor"` // always ""
}

func (h *Handlers) apiProjects(c echo.Context) error {
	ctx := c.Request().Context()
	all, err := h.Access.Projects(ctx, httpx.Visible(ctx, domain.ActProjectRead))
	if err != nil {
		return err
	}
	out := make([]apiProject, len(all))
	for i, p := range all {
		out[i] = docOf(p)
	}
	return c.JSON(http.StatusOK, apiProjects{Projects: out})
}

// project finds the project that the path names. One in which the caller has no role answers like one that is not there.
func (h *Handlers) project(c echo.Context) (access.Project, error) {
	ctx, name := c.Request().Context(), c.Param("project")
	if plain, err := url.PathUnescape(name); err == nil && c.Request().URL.RawPath != "" {
		name = plain
	}
	p, err := h.Access.ProjectByName(ctx, name)
	if err == nil {
		err = httpx.Allow(ctx, p.ID, domain.ActProjectRead)
	}
	if domain.Is(err, domain.NotFound) {
		err = domain.Fail(domain.NotFound, "there is no project %q that you may see", name).Coded("access.no_project", "name", name)
	}
	return p, err
}

func (h *Handlers) apiProject(c echo.Context) error {
	p, err := h.project(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, docOf(p))
}

// networksCall is the whole list; an empty one leaves the public network only.
type networksCall struct {
	Networks []string `json:"networks"`
}

func (h *Handlers) apiNetworks(c echo.Context) error {
	var in networksCall
	if err := httpx.ReadJSON(c, &in); err != nil {
		return err
	}
	if in.Networks == nil {
		return domain.Fail(domain.Invalid, "the list is missing: give networks, [] for the public network only").At("networks").Coded("access.network_none")
	}
	p, err := h.setNetworks(c, in.Networks)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, docOf(p))
}

func (h *Handlers) setNetworks(c echo.Context, networks []string) (access.Project, error) {
	ctx := c.Request().Context()
	p, err := h.project(c)
	if err != nil {
		return p, err
	}
	if err := httpx.Allow(ctx, p.ID, domain.ActProjectNetworks); err != nil {
		return p, err
	}
	return h.Access.SetNetworks(ctx, p.ID, networks)
}

func rowOf(p access.Project) projects.Row {
	return projects.Row{Name: p.Name, Title: p.Title, URL: "/projects/" + url.PathEscape(p.Name), Networks: p.Networks}
}

func (h *Handlers) projectsPage(c echo.Context) error {
	ctx := c.Request().Context()
	all, err := h.Access.Projects(ctx, httpx.Visible(ctx, domain.ActProjectRead))
	if err != nil {
		return err
	}
	p := projects.ListPage{Shell: httpx.Shell(c)}
	for _, one := range all {
		p.Rows = append(p.Rows, rowOf(one))
	}
	return httpx.Render(c, http.StatusOK, projects.List(p))
}

func (h *Handlers) projectPage(c echo.Context) error {
	found, err := h.project(c)
	if err != nil {
		return err
	}
	return h.showProject(c, found, projects.ShowPage{Networks: strings.Join(found.Networks, "\n")}, http.StatusOK)
}

func (h *Handlers) showProject(c echo.Context, found access.Project, p projects.ShowPage, status int) error {
	ctx := c.Request().Context()
	p.Shell, p.Row = httpx.Shell(c), rowOf(found)
	if p.Save.URL = p.Row.URL; !httpx.Can(ctx, found.ID, domain.ActProjectNetworks) {
		p.Save = ui.Action{Denied: i18n.T(ctx, "http.denied", "action", string(domain.ActProjectNetworks))}
	}
	return httpx.Render(c, status, projects.Show(p))
}

// networksForm takes the list as typed: an entry a line, or several parted by blanks or commas.
func (h *Handlers) networksForm(c echo.Context) error {
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	text := form.Get("networks")
	set, err := h.setNetworks(c, strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n,;", r) }))
	if err == nil {
		return httpx.Redirect(c, rowOf(set).URL)
	}
	if httpx.FieldOf(err) != "networks" {
		return err
	}
	status, words, ok := httpx.Explain(c, err)
	if !ok {
		return err
	}
	found, ferr := h.project(c)
	if ferr != nil {
		return ferr
	}
	return h.showProject(c, found, projects.ShowPage{Networks: text, Errors: []ui.FieldError{{Field: "networks", Message: words}}}, status)
}
