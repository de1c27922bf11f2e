package center

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/axsched/ax/modules/broker"
	"github.com/axsched/ax/modules/domain"
	"github.com/axsched/ax/modules/scheduler"
)

// newMetrics is the registry of one process. What belongs to a life is read from
// the one that is up at the moment of asking, without a query to any store.
func newMetrics(s *site) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &lifeMetrics{s})
	return r
}

// lifeMetrics collects the figures of the life that is up.
type lifeMetrics struct{ s *site }

// Describe tells nothing in advance: which figures there are depends on the mode.
func (m *lifeMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect reads them.
func (m *lifeMetrics) Collect(out chan<- prometheus.Metric) {
	m.s.mu.RLock()
	l := m.s.life
	m.s.mu.RUnlock()
	e := emitter{out}
	for where, n := range map[string]int64{"uplink": m.s.poison.uplink.Load(), "logs": m.s.poison.logs.Load(), "nudges": m.s.poison.nudges.Load()} {
		e.count("ax_poison_entries_total", "What was found in Redis, could not be read and was removed.", n, "where", where)
	}
	e.gauge("ax_up", "1 while this process has a lease and its roles work.", flag(l != nil))
	if l == nil {
		return
	}
	if l.lease != nil {
		e.gauge("ax_lease_age_seconds", "Time since the lease was last renewed.", time.Since(l.lease.Renewed()).Seconds())
	}
	if l.clock != nil {
		e.gauge("ax_redis_clock_ahead_seconds", "Redis' clock minus the database's, as the active broker found it last; 0 in the others.", time.Duration(l.clock.ahead.Load()).Seconds())
	}
	if l.broker != nil {
		e.broker(l.broker.Stats())
	}
	if l.sched != nil {
		e.scheduler(l.sched.Status())
	}
	for _, p := range l.pools {
		e.pool(p)
	}
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// emitter writes figures with at most one label.
type emitter struct{ out chan<- prometheus.Metric }

func (e emitter) put(kind prometheus.ValueType, name, help string, v float64, label ...string) {
	var names, values []string
	if len(label) == 2 {
		names, values = label[:1], label[1:]
	}
	e.out <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, names, nil), kind, v, values...)
}

func (e emitter) gauge(name, help string, v float64, label ...string) {
	e.put(prometheus.GaugeValue, name, help, v, label...)
}

func (e emitter) count(name, help string, v int64, label ...string) {
	e.put(prometheus.CounterValue, name, help, float64(v), label...)
}

func (e emitter) broker(s broker.Stats) {
	e.gauge("ax_broker_active", "1 in the process whose broker is the active one; the gauges below are 0 in the others.", flag(s.Active))
	for _, lane := range domain.Lanes {
		e.gauge("ax_broker_ready_instances", "Instances ready and not assigned, as last looked through, by lane.", float64(s.Ready[lane]), "lane", string(lane))
		e.gauge("ax_broker_ready_truncated", "1 when a lane has more ready instances than one look goes through.", flag(s.ReadyMore[lane]), "lane", string(lane))
	}
	e.gauge("ax_broker_in_flight_attempts", "Attempts sent and not ended.", float64(s.InFlight))
	e.gauge("ax_broker_unacked_attempts", "Attempts sent and not claimed.", float64(s.Unacked))
	e.gauge("ax_broker_held_instances", "Instances that wait for an earlier one of their job.", float64(s.Held))
	e.gauge("ax_broker_targets", "Workers alive.", float64(s.Targets))
	e.gauge("ax_broker_room_attempts", "Attempts that the workers could be sent now, over all lanes.", float64(s.Room))
	e.gauge("ax_broker_uplink_lag_seconds", "Age of the oldest entry among what workers said that was applied last.", s.UplinkLag.Seconds())
	e.count("ax_broker_dispatched_attempts_total", "Attempts committed for a target.", s.Dispatched)
	e.count("ax_broker_unsent_messages_total", "Messages that could not be sent.", s.Unsent)
	e.count("ax_broker_grants_total", "Grants answered, repetitions included.", s.Granted)
	e.count("ax_broker_denials_total", "Claims of an attempt denied.", s.Denied)
	e.count("ax_broker_withdrawals_total", "Attempts taken back before any grant.", s.Withdrawn)
	e.count("ax_broker_losses_total", "Attempts whose worker was lost or knew nothing of them.", s.Lost)
	e.count("ax_broker_reports_total", "Outcomes applied, repetitions included.", s.Reports)
	e.count("ax_broker_replaced_kills_total", "Kills told to workers that held what was replaced.", s.Kills)
}

func (e emitter) scheduler(s scheduler.Status) {
	e.gauge("ax_scheduler_fault", "1 while this process takes nothing.", flag(s.Fault != ""))
	e.gauge("ax_scheduler_waiting_triggers", "Triggers of the coming window that wait in memory.", float64(s.Wheel))
	e.gauge("ax_scheduler_poisoned_triggers", "Triggers that cannot be taken, at most 20.", float64(len(s.Poisoned)))
	e.gauge("ax_scheduler_clock_offset_seconds", "What to add to this machine's clock to get the database's.", s.ClockOffset.Seconds())
	e.gauge("ax_scheduler_last_load_timestamp_seconds", "When the coming window was last read; 0 = never.", seconds(s.LastLoad))
	e.gauge("ax_scheduler_last_take_timestamp_seconds", "When a batch of due triggers was last committed; 0 = never.", seconds(s.LastTake))
	e.count("ax_scheduler_takes_total", "Batches of due triggers committed.", s.Takes)
	e.count("ax_scheduler_fires_total", "Instances made.", s.Fires)
	e.count("ax_scheduler_gaps_total", "Planned fires noted as skipped or missed.", s.Gaps)
	e.count("ax_scheduler_fast_lost_total", "Fires that another process looked at first.", s.FastLost)
	e.count("ax_scheduler_fast_failed_total", "Calls of the fast path that failed or came too late.", s.FastFailed)
	e.count("ax_scheduler_locked_total", "Looks at a due trigger that another transaction held.", s.Locked)
	e.count("ax_scheduler_locked_long_total", "Due triggers found locked for over 2 s.", s.LockedLong)
	e.count("ax_scheduler_failures_total", "Batches of due triggers that failed.", s.Failures)
}

func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}

func (e emitter) pool(p rolePool) {
	s, role := p.Stats(), string(p.role)
	e.gauge("ax_pool_max_connections", "Connections that a role may open to the database.", float64(s.MaxOpenConnections), "role", role)
	e.gauge("ax_pool_open_connections", "Connections open to the database.", float64(s.OpenConnections), "role", role)
	e.gauge("ax_pool_used_connections", "Connections in use.", float64(s.InUse), "role", role)
	e.count("ax_pool_waits_total", "How often somebody waited for a connection.", s.WaitCount, "role", role)
	e.put(prometheus.CounterValue, "ax_pool_wait_seconds_total", "How long was waited for connections.", s.WaitDuration.Seconds(), "role", role)
}
