package protocol

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Message is asynq's payload: what one round gave to one lane of one worker.
type Message struct {
	ID    string  `json:"id"`
	Epoch int64   `json:"epoch"`
	Sent  int64   `json:"sent"` // the sender's clock
	IDs   []int64 `json:"ids"`  // attempts, at most MaxBatch
}

// MessageID is the id of the message with the number.
func MessageID(number int64) string { return messagePrefix + strconv.FormatInt(number, 10) }

// IsMessageID reports whether an id has the form of one.
func IsMessageID(id string) bool {
	digits, ok := strings.CutPrefix(id, messagePrefix)
	n, err := strconv.ParseInt(digits, 10, 64)
	return ok && err == nil && MessageID(n) == id
}

const messagePrefix = "m"

// MaxBatch is the most attempts in one message.
const MaxBatch = 256

// Uplink is one entry that a worker writes. Exactly one of the lists is set.
type Uplink struct {
	Worker  string    `json:"worker"`
	Boot    int64     `json:"boot"`
	Claim   *Claim    `json:"claim,omitempty"`
	Refuse  *Refuse   `json:"refuse,omitempty"`
	Started []Started `json:"started,omitempty"`
	Reports []Report  `json:"reports,omitempty"`
}

// Claim asks for the right to run the attempts of one message; its arrival is the
// ack. Nonce is fresh for each sending, and only its answer counts.
type Claim struct {
	Message string  `json:"message"`
	Nonce   string  `json:"nonce"`
	IDs     []int64 `json:"ids"`
}

// Refuse hands attempts back ungranted, for a reason that a person can read. No
// retry is spent.
type Refuse struct {
	IDs    []int64 `json:"ids"`
	Reason string  `json:"reason"`
}

// Started says that the attempt's start is in the journal.
type Started struct {
	Attempt int64 `json:"attempt"`
	At      int64 `json:"at"`
}

// Report is the outcome of an attempt. It is sent again until it is confirmed.
type Report struct {
	Attempt  int64           `json:"attempt"`
	Outcome  string          `json:"outcome"` // one of the outcomes below
	ExitCode *int            `json:"exitCode,omitempty"`
	Message  string          `json:"message,omitempty"` // at most MaxMessage bytes count
	Result   json.RawMessage `json:"result,omitempty"`
	Started  int64           `json:"started,omitempty"`
	Finished int64           `json:"finished,omitempty"`
	LogLines int64           `json:"logLines"` // lines of output in all
}

// The outcomes that a target reports; the words are the domain's.
const (
	OutcomeSuccess    = "success"
	OutcomeError      = "error"
	OutcomeTimeout    = "timeout"
	OutcomeKilled     = "killed"
	OutcomeWorkerLost = "worker_lost"
	OutcomeRefused    = "refused" // not run to its end for no fault of its own: no retry is spent
)

// Limits of what a report may carry, in bytes.
const (
	MaxMessage = 4 << 10
	MaxResult  = 64 << 10
)

// Downlink is one entry in a worker's inbox. Exactly one of the fields is set.
type Downlink struct {
	Answer  *Answer  `json:"answer,omitempty"`
	Confirm []int64  `json:"confirm,omitempty"` // outcomes that are in the database
	Kill    *Kill    `json:"kill,omitempty"`
	LogAcks []LogAck `json:"logAcks,omitempty"`
	Drain   *bool    `json:"drain,omitempty"` // true: take no more; false: go on
}

// The streams of a log line.
const (
	StreamOut = "out"
	StreamErr = "err"
	StreamAX  = "ax"
	StreamGap = "gap"
)

// Answer answers the claim with the nonce. What is in neither list was not
// granted and is not run.
type Answer struct {
	Message string `json:"message"`
	Nonce   string `json:"nonce"`
	Grants  []Task `json:"grants,omitempty"`
	Denied  []Deny `json:"denied,omitempty"`
}

// Deny says why an attempt may not run: it was withdrawn, killed or is another's.
type Deny struct {
	Attempt int64  `json:"attempt"`
	Reason  string `json:"reason"`
}

// Task is what a target is to do, read at the moment of the grant. Params and
// Env are frozen for the run; Exec is rendered and is the type's own.
type Task struct {
	Attempt  int64             `json:"attempt"`
	TraceID  string            `json:"traceId"`
	TaskID   string            `json:"taskId"`
	Project  string            `json:"project"`
	TaskName string            `json:"taskName"`
	BizDate  string            `json:"bizDate"`
	ExecType string            `json:"execType"`
	Exec     json.RawMessage   `json:"exec"`
	Params   map[string]string `json:"params,omitempty"`
	Env      map[string]string `json:"env,omitempty"`
	Expected int64             `json:"expected"`
	Timeout  int64             `json:"timeout"` // milliseconds from the start
	Ordinal  int               `json:"ordinal"`
	Shard    Shard             `json:"shard"`
	Lane     string            `json:"lane"`
	OnLost   string            `json:"onLost"` // retry, wait, hold
	// Early permits a start before Expected (manual runs, reruns, backfill).
	Early bool `json:"early,omitempty"`
	// Net says where a task that connects to a URL may go; nil = to the public network only. Types that need none get none.
	Net *Net `json:"net,omitempty"`
	// Secrets are the values that must not stand in anything that is kept or told of the task: output, message, result.
	// They are never journalled.
	Secrets []string `json:"secrets,omitempty"`
}

// Net is what netguard must know of a task: the entries of its project's allow-list and the addresses of the center's stores.
type Net struct {
	Allow  []string `json:"allow,omitempty"`
	Stores []string `json:"stores,omitempty"` // ADDRESS:PORT
}

// Shard is part Index of Total.
type Shard struct {
	Index int `json:"index"`
	Total int `json:"total"`
}

// Kill asks for the end of an attempt: the worker stops it and reports. If it has
// not started it never will.
type Kill struct {
	Attempt int64  `json:"attempt"`
	Reason  string `json:"reason"`
}

// LogAck says that the lines up to and with place UpTo are in the database.
type LogAck struct {
	Attempt int64 `json:"attempt"`
	UpTo    int64 `json:"upTo"`
}

// LogLines is one entry of the log stream. First and Last place its lines in what
// is shipped of the attempt, from 1 without a gap, whatever was not kept; acks
// count the same way. Each line is [number, ms, stream, text] or, when the text
// goes on from the line before with the same number, [number, ms, stream, text,
// true]. The number is the line's place in the whole output, from 1. The streams
// are out, err, ax (said by AX itself) and gap, which stands for output that was
// not kept: its text is "lines bytes", two numbers.
type LogLines struct {
	Worker  string            `json:"worker"`
	Boot    int64             `json:"boot"`
	Attempt int64             `json:"attempt"`
	First   int64             `json:"first"`
	Last    int64             `json:"last"`
	Lines   []json.RawMessage `json:"lines"`
}

// Heartbeat is what a worker says of itself each second.
type Heartbeat struct {
	Name    string   `json:"name"`
	UID     string   `json:"uid"` // of its data directory
	Boot    int64    `json:"boot"`
	Seq     int64    `json:"seq"`
	State   string   `json:"state"` // available, draining
	Host    string   `json:"host"`
	IP      string   `json:"ip"`
	Version string   `json:"version"`
	Types   []string `json:"types"`
	// Catalog is the Rev of what the types take, which stands in the registry; "" = this worker tells nothing of it.
	Catalog string `json:"catalog,omitempty"`
	// Threadless are those of the types whose tasks take no thread of a lane.
	Threadless []string       `json:"threadless,omitempty"`
	Tags       []string       `json:"tags"`
	Lanes      map[string]int `json:"lanes"` // threads
	Cores      int            `json:"cores"`
	Running    int            `json:"running"`
	MeanMs     int64          `json:"meanMs"` // five-minute mean duration; 0 = nothing ran
	SkewMs     int64          `json:"skewMs"` // its clock minus the database's
	// Disk is why its journal cannot be written, in words, such as "disk full (…)"; it takes no work then. Empty: it can.
	Disk    string `json:"disk,omitempty"`
	Started int64  `json:"started"`
	// Held names every attempt it knows: claimed, granted, running or with an
	// unconfirmed outcome.
	Held []int64 `json:"held"`
	// Stamp is Redis' clock at the writing, put there by the script.
	Stamp int64 `json:"-"`
}

// The beginnings of what a worker's set-up adds to its tags: a data source, an account that tasks may run as.
const (
	SourceTag = "source:"
	UserTag   = "user:"
)

// The values of Task.OnLost: what follows when the worker is lost.
const (
	OnLostRetry = "retry"
	OnLostWait  = "wait"
	OnLostHold  = "hold"
)

// The states of a worker.
const (
	WorkerAvailable = "available"
	WorkerDraining  = "draining"
	WorkerLost      = "lost"
)

// MaxSkewMs is how far a worker's clock may be off before it refuses work, and
// how long before its expected time a task may be started.
const MaxSkewMs = 5000
