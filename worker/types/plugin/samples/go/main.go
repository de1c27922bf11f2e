// Command acme-digest is a plug-in of AX in Go. It speaks JSON-RPC 2.0, one object a line, over standard input and
// output, and says itself what its type takes. `go build -o acme-digest .` in this folder makes it.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// call is a request of the worker.
type call struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Exec struct {
			Text, File string
		} `json:"exec"`
	} `json:"params"`
}

func main() {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return // the worker is done with this process
		}
		var c call
		if err := json.Unmarshal(line, &c); err != nil || c.ID == nil {
			continue
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": c.ID}
		switch c.Method {
		case "init":
			answer["result"] = map[string]any{}
		case "describe":
			answer["result"] = describe()
		case "run":
			if result, err := run(c); err != nil {
				answer["error"] = map[string]any{"code": 1, "message": err.Error()}
			} else {
				answer["result"] = result
			}
		default:
			answer["error"] = map[string]any{"code": -32601, "message": "there is no method " + c.Method}
		}
		_ = json.NewEncoder(os.Stdout).Encode(answer) // a worker that is gone reads nothing
	}
}

// describe says what the type takes.
func describe() any {
	param := func(name, about string) map[string]any { return map[string]any{"name": name, "about": about} }
	return map[string]any{"version": "1.0", "types": []any{map[string]any{"name": "acme_digest", "params": []any{
		param("text", "the text, where no file is given"), param("file", "an absolute path on the worker's machine")}}}}
}

// run digests what the task names.
func run(c call) (any, error) {
	var from io.Reader = strings.NewReader(c.Params.Exec.Text)
	if path := c.Params.Exec.File; path != "" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	sum := sha256.New()
	n, err := io.Copy(sum, from)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "%d bytes read\n", n)
	return map[string]any{"success": true, "result": map[string]any{"sha256": hex.EncodeToString(sum.Sum(nil)), "bytes": n}}, nil
}
