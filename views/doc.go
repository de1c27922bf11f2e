// Package views holds no code. Its folders turn page structs into pages: each
// has a page.go with plain structs, .templ files and their generated Go.
//
// A view takes one page struct and touches nothing else: no store, no session, no
// clock. It may import kit/i18n, static and its own kin (ui, layout). Every page
// is a function from its struct to a templ.Component:
//
//	auth.Login(LoginPage)          GET/POST /login            one card, no shell
//	auth.Setup(SetupPage)          GET/POST /setup            first start: admin's name and password
//	board.Dashboard(DashboardPage) GET /                      exactly five figures
//	jobs.List(ListPage)            GET /jobs
//	jobs.Job(JobPage)              GET /jobs/{project}/{name} ?tab=overview|instances|deps|versions|yaml
//	jobs.Edit(EditPage)            GET/POST /jobs/new, …/edit ?mode=yaml|form
//	jobs.Check(CheckResult)        POST EditPage.CheckURL     fragment: problems, next fires, time-out
//	instances.List(ListPage)       GET /instances
//	instances.Show(ShowPage)       GET /instances/{id}        ?tab=log|dispatch|params|deps|history
//	instances.Orphans(OrphansPage) GET /orphans               POST /orphans/settle
//	ledger.Books(Page)             GET /ledger                ?range=&from=&to=&job=&only=&state=
//	dag.Graph(GraphPage)           GET /dag                   ?biz_date=&job=&view=list
//	workers.List(ListPage)         GET /workers
//	audit.List(ListPage)           GET /audit
//	layout.Failure(FailurePage)    403, 404, 500 and the like
//
// What a handler must know:
//
//   - Every struct but LoginPage and SetupPage embeds layout.Shell: language, theme,
//     zone, now, user, token, environment, notices. The page function puts language
//     and clock into the rendering context itself.
//   - Addresses are fields. An empty address hides its link; a ui.Action with a
//     Denied sentence shows the button disabled with that sentence.
//   - Strings that arrive in structs (problems, why, verdicts, messages) are already
//     in the reader's language. Words that belong to the page come from the catalog.
//   - State and Label hold the words of the domain as they stand in the table.
//   - Forms post application/x-www-form-urlencoded with "csrf" and, where they
//     create or change something, "idempotency_key".
//   - POST /prefs takes one of lang, theme (auto|light|dark), zone, and next (the
//     path to return to). POST /logout ends the session. GET /search?q= finds.
//   - A page that refreshes itself is asked for again at its own address; the parts
//     marked data-live are morphed in. No other route is needed.
//   - The log stream (ShowPage.Log.StreamURL, with ?after=N added) sends events whose
//     data is a JSON array of [no, time_ms, stream, text] and whose id is the last
//     line's number. stream is stdout, stderr or ax. An event named "end" closes it.
//     RangeURL, with ?before=N added, answers the same array as JSON.
package views
