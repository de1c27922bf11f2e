package web

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/kit/i18n"
	"github.com/axsched/ax/views/workers"
)

// apiTypes is all types that are announced, by name.
type apiTypes struct {
	Types  []apiType `json:"types"`
	Cursor string    `json:"cursor"` // always "": types are few
}

// apiType is one type, as the target with its newest version describes it.
type apiType struct {
	Type    string     `json:"type"`
	Version string     `json:"version"` // "" = nobody says
	BuiltIn bool       `json:"builtIn"` // AX knows it itself and judges its settings at save
	Plugin  string     `json:"plugin"`  // that runs it; "" = none
	About   string     `json:"about"`
	Targets []string   `json:"targets"`
	Params  []apiParam `json:"params"` // null: nobody says what it takes
}

// apiParam is one key of a job's exec.
type apiParam struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"` // text, number, boolean, list or map
	Required bool     `json:"required"`
	Default  string   `json:"default"`
	Choices  []string `json:"choices"`
	Label    string   `json:"label"`
	About    string   `json:"about"`
}

// apiPlugin is how a plug-in of a worker stands.
type apiPlugin struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Types   []string `json:"types"`
	State   string   `json:"state"` // loading, ready or failed
	Fault   string   `json:"fault"` // why it is not ready
}

func (h *Handlers) apiTypes(c echo.Context) error {
	ctx := c.Request().Context()
	offers, err := h.Offers(ctx)
	if err != nil {
		return err
	}
	out := apiTypes{Types: []apiType{}}
	for _, kind := range slices.Sorted(maps.Keys(offers)) {
		o, lang := offers[kind], i18n.Lang(ctx)
		one := apiType{Type: kind, Version: o.Description.Version, BuiltIn: domain.BuiltIn(kind), Plugin: o.Description.Plugin,
			About: o.Description.About.In(lang), Targets: append([]string{}, o.By...)}
		if o.Description.Params != nil {
			one.Params = make([]apiParam, len(o.Description.Params))
		}
		for i, p := range o.Description.Params {
			one.Params[i] = apiParam{p.Name, p.Kind, p.Required, p.Default, append([]string{}, p.Choices...), p.LabelIn(lang), p.HelpIn(lang)}
		}
		out.Types = append(out.Types, one)
	}
	return c.JSON(http.StatusOK, out)
}

// described is what a worker told of its types and plug-ins, as its page shows it.
func described(ctx context.Context, told domain.Catalog) (types []workers.Type, plugins []workers.Plugin) {
	lang := i18n.Lang(ctx)
	for _, d := range told.Types {
		t := workers.Type{Name: d.Type, Version: d.Version, Plugin: d.Plugin, About: d.About.In(lang), Free: d.Params == nil}
		for _, p := range d.Params {
			t.Params = append(t.Params, workers.Param{Name: p.Name, Kind: p.Kind, Required: p.Required, Default: p.Default, Choices: p.Choices, Label: p.LabelIn(lang), About: p.HelpIn(lang)})
		}
		types = append(types, t)
	}
	for _, p := range told.Plugins {
		plugins = append(plugins, workers.Plugin{Name: p.Name, Version: p.Version, State: p.State, Fault: p.Fault})
	}
	return types, plugins
}
