package domain

import (
	"context"
	"slices"
)

// Action is something that a person may or may not do in a project; access/policy
// says which role may do what.
type Action string

// The actions. Those marked "everywhere" are about the whole system: they are
// asked with project 0 and need a role on every project.
const (
	ActProjectRead       Action = "project.read"           // sees that the project exists; every role has it
	ActProjectCreate     Action = "project.create"         // everywhere
	ActProjectNetworks   Action = "project.networks"       // which private networks its tasks may connect to
	ActJobRead           Action = "job.read"               //
	ActJobWrite          Action = "job.write"              //
	ActJobPause          Action = "job.pause"              //
	ActJobDelete         Action = "job.delete"             //
	ActCalendarWrite     Action = "calendar.write"         // make, change and delete; whoever reads jobs reads them
	ActInstanceRead      Action = "instance.read"          //
	ActInstanceTrigger   Action = "instance.trigger"       //
	ActInstanceKill      Action = "instance.kill"          //
	ActInstanceRelease   Action = "instance.release"       // without what it waits for
	ActInstanceRerun     Action = "instance.rerun"         // of what failed or was cancelled
	ActInstanceRerunDone Action = "instance.rerun_success" // of what succeeded
	ActBackfillStart     Action = "backfill.start"         // of what has not succeeded
	ActBackfillControl   Action = "backfill.control"       // pause, resume, stop
	ActPoolRead          Action = "pool.read"              //
	ActPoolLimit         Action = "pool.limit"             // changes how many places a pool has, also to none
	ActPoolWrite         Action = "pool.write"             // makes, describes and deletes pools
	ActSecretRead        Action = "secret.read"            // names and who changed them, never values
	ActSecretUse         Action = "secret.use"             // in job files
	ActSecretWrite       Action = "secret.write"           // sets and deletes
	ActOrphanSettle      Action = "orphan.settle"          // as failed, or to run again
	ActOrphanSucceed     Action = "orphan.settle_success"  // as success
	ActIncidentClose     Action = "incident.close"         // by hand; of the system: everywhere
	ActLogRead           Action = "log.read"               //
	ActWorkerRead        Action = "worker.read"            //
	ActWorkerDrain       Action = "worker.drain"           // everywhere
	ActAuditRead         Action = "audit.read"             //
	ActUserAdmin         Action = "user.admin"             // everywhere
)

// EveryProject is the project id of what belongs to no single project, and of a
// membership that holds in all of them.
const EveryProject ID = 0

// ProjectSet is the projects in which somebody may do something. The zero value
// is none. With All, IDs means nothing.
type ProjectSet struct {
	All bool
	IDs []ID // ascending
}

// Has reports whether the project is in the set.
func (s ProjectSet) Has(project ID) bool { return s.All || slices.Contains(s.IDs, project) }

// Empty reports whether there is no project in it.
func (s ProjectSet) Empty() bool { return !s.All && len(s.IDs) == 0 }

// PrincipalKind says how somebody came to be known.
type PrincipalKind string

// The kinds of principal.
const (
	PrincipalUser   PrincipalKind = "user"   // a session of an account
	PrincipalToken  PrincipalKind = "token"  // an API token; acts with its account's rights
	PrincipalSystem PrincipalKind = "system" // AX itself: first start, demo
)

// Principal is who acts. The zero value is nobody.
type Principal struct {
	ID       ID     // of the account, also for a token; 0 = nobody or the system
	TokenID  ID     // of the token; 0 unless Kind is token
	Name     string // of the account
	Kind     PrincipalKind
	Language string // "en", "zh-CN"; "" = not chosen
	Timezone string // IANA name; "" = not chosen
}

// Known reports whether it is anybody at all.
func (p Principal) Known() bool { return p.Kind != "" }

// Origin is the road on which a request came. The zero value is AX itself.
type Origin struct {
	Via       string // page, api, cli; "" = AX itself
	Remote    string // address of the client
	RequestID string
}

type principalKey struct{}

type originKey struct{}

// WithPrincipal returns a context in which p acts.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalOf is who acts in ctx; the zero value if nobody does.
func PrincipalOf(ctx context.Context) Principal {
	p, _ := ctx.Value(principalKey{}).(Principal)
	return p
}

// ActorOf names who acts in ctx: its principal, or "ax" itself.
func ActorOf(ctx context.Context) string {
	if name := PrincipalOf(ctx).Name; name != "" {
		return name
	}
	return "ax"
}

// WithOrigin returns a context that says where its request came from.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf is where the request of ctx came from.
func OriginOf(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}
