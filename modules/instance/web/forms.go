package web

import (
	"context"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/instance"
	"github.com/axsched/ax/modules/kit/httpx"
)

func (h *Handlers) killForm(c echo.Context) error {
	ctx := c.Request().Context()
	id, err := httpx.ParamID(c, "id")
	if err != nil {
		return err
	}
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	if _, err := h.Requests.Kill(ctx, id, strings.TrimSpace(form.Get("reason")), mayKill(ctx)); err != nil {
		return err
	}
	return httpx.Redirect(c, instanceURL(id))
}

func (h *Handlers) rerunForm(c echo.Context) error {
	id, err := httpx.ParamID(c, "id")
	if err != nil {
		return err
	}
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	return httpx.OnceForm(c, func(ctx context.Context) (string, error) {
		_, err := h.Requests.Rerun(ctx, id, strings.TrimSpace(form.Get("reason")), mayRerun(ctx))
		return instanceURL(id), err
	})
}

func (h *Handlers) triggerForm(c echo.Context) error {
	form, err := httpx.Form(c)
	if err != nil {
		return err
	}
	o, err := readTrigger(form)
	if err != nil {
		return err
	}
	return httpx.OnceForm(c, func(ctx context.Context) (string, error) {
		j, err := h.job(ctx, c, domain.ActInstanceTrigger)
		if err != nil {
			return "", err
		}
		in, err := h.Requests.Trigger(ctx, j, o)
		return instanceURL(in.ID), err
	})
}

// readTrigger reads biz_date, params (one name=value a line) and reason.
func readTrigger(form url.Values) (instance.TriggerOptions, error) {
	o := instance.TriggerOptions{Reason: strings.TrimSpace(form.Get("reason"))}
	if text := strings.TrimSpace(form.Get("biz_date")); text != "" {
		d, err := domain.ParseBizDate(text)
		if err != nil {
			return o, domain.Fail(domain.Invalid, "%v", err).At("biz_date")
		}
		o.BizDate = d
	}
	for line := range strings.Lines(form.Get("params")) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return o, domain.Fail(domain.Invalid, "the line %q is not name=value", line).At("params")
		}
		if o.Params == nil {
			o.Params = map[string]string{}
		}
		o.Params[strings.TrimSpace(name)] = value
	}
	return o, nil
}
