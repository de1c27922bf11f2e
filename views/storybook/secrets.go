package storybook

import (
	"time"

	"github.com/a-h/templ"

	"github.com/axsched/ax/views/layout"
	"github.com/axsched/ax/views/secrets"
	"github.com/axsched/ax/views/ui"
)

func secretStories() []Story {
	refused := func(s layout.Shell) ui.Action {
		return ui.Action{Denied: word(s.Lang, "This needs the permission secret.write.", "这需要权限 secret.write。")}
	}
	return []Story{
		{"secrets", func(s layout.Shell) templ.Component { return secrets.List(secretList(s)) }},
		{"secrets-empty", func(s layout.Shell) templ.Component {
			return secrets.List(secrets.ListPage{Shell: s, New: refused(s)})
		}},
		{"secrets-error", func(s layout.Shell) templ.Component {
			return secrets.List(secrets.ListPage{Shell: s, Project: "pay", Error: word(s.Lang, "There is no project pay.", "没有项目 pay。")})
		}},
		{"secrets-no-key", func(s layout.Shell) templ.Component {
			p := secretList(s)
			p.NoKey = word(s.Lang, "Secrets cannot be kept: this center has no key to seal them with.", "无法保存机密：此中心没有加密用的密钥。")
			return secrets.List(p)
		}},
		{"secret", func(s layout.Shell) templ.Component { return secrets.Edit(secretPage(s)) }},
		{"secret-overtaken", func(s layout.Shell) templ.Component {
			p := secretPage(s)
			p.Error = word(s.Lang, "Secret warehouse_password was changed meanwhile: chen saved version 4.", "机密 warehouse_password 已被修改：chen 保存了第 4 版。")
			return secrets.Edit(p)
		}},
		{"secret-viewer", func(s layout.Shell) templ.Component {
			p := secretPage(s)
			p.Save, p.Delete = refused(s), refused(s)
			return secrets.Edit(p)
		}},
		{"secret-new", func(s layout.Shell) templ.Component { return secrets.Edit(newSecret(s)) }},
		{"secret-wrong", func(s layout.Shell) templ.Component {
			p := newSecret(s)
			p.Form.Name = "token"
			p.Errors = []ui.FieldError{{Field: "value", Message: word(s.Lang, "A value has at least 4 characters: a shorter one stands everywhere in ordinary output and cannot be masked.", "值至少 4 个字符：更短的值在普通输出中随处可见，无法遮蔽。")}}
			return secrets.Edit(p)
		}},
	}
}

func secretRows() []secrets.Row {
	return []secrets.Row{
		{Name: "warehouse_password", Project: "default", URL: "/secrets/default%2Fwarehouse_password", Version: 3, Jobs: 12, ChangedBy: "lin", Changed: ago(30 * time.Hour)},
		{Name: "BANK_API_TOKEN", Project: "default", URL: "/secrets/default%2FBANK_API_TOKEN", Version: 1, ChangedBy: "chen", Changed: ago(900 * time.Hour)},
		{Name: "gpu_key", Project: "risk", URL: "/secrets/risk%2Fgpu_key", Version: 27, Jobs: 1, ChangedBy: "lin", Changed: ago(3 * time.Minute)},
	}
}

func secretList(s layout.Shell) secrets.ListPage {
	return secrets.ListPage{Shell: s, Rows: secretRows(), Projects: []ui.Option{{Value: "default", Text: "default"}, {Value: "risk", Text: "risk"}}, New: ui.Action{URL: "/secrets/new"}}
}

func secretPage(s layout.Shell) secrets.EditPage {
	r := secretRows()[0]
	return secrets.EditPage{Shell: s, Row: r, CreatedBy: "chen", Created: ago(2000 * time.Hour), JobNames: []ui.Ref{{ID: "order_stat_daily", URL: "/jobs/order_stat_daily"}, {ID: "sync_pay_daily", URL: "/jobs/sync_pay_daily"}},
		Form: secrets.Form{Version: "3"}, Save: ui.Action{URL: r.URL}, Delete: ui.Action{URL: r.URL + "/delete"}}
}

func newSecret(s layout.Shell) secrets.EditPage {
	return secrets.EditPage{Shell: s, Form: secrets.Form{Project: "default"}, Projects: []ui.Option{{Value: "default", Text: "default"}, {Value: "risk", Text: "risk"}}, Save: ui.Action{URL: "/secrets"}}
}
