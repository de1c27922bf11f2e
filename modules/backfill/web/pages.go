package web

import "github.com/axsched/ax/modules/kit/httpx"

// pages are the routes that people see.
func (h *Handlers) pages() []httpx.Route { return nil }
