package httpx

import (
	"encoding"
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/axsched/ax/modules/domain"
)

// Doc says what a call of the API is for. Body and Answer are values of the types that
// are read and written; only their types count. The zero Doc leaves a call with what its
// route tells by itself.
type Doc struct {
	Summary string // one line
	Query   []Param
	Body    any // nil: none
	Answer  any // nil: no JSON
	Status  int // of the good answer; 0 = 200, or 204 without an Answer
}

// Param is a parameter in the query. Kind is string (also ""), integer or boolean.
type Param struct {
	Name, Kind, Text string
}

// apiRoot is where the API begins.
const apiRoot = "/api/v1/"

// Document is the route of the OpenAPI description of every route under /api/v1 that
// the router has, this one too. It is made at its first request, so add it as any other.
func (r *Router) Document() Route {
	text := sync.OnceValues(func() ([]byte, error) { return json.MarshalIndent(r.openAPI(), "", "  ") })
	return Route{Method: http.MethodGet, Path: apiRoot + "openapi.json", Action: Public, Doc: Doc{Summary: "This description", Answer: map[string]any{}},
		Handler: func(c echo.Context) error {
			b, err := text()
			if err != nil {
				return err
			}
			return c.JSONBlob(http.StatusOK, b)
		}}
}

func (r *Router) openAPI() map[string]any {
	paths := map[string]map[string]any{}
	for _, route := range r.routes {
		if !strings.HasPrefix(route.Path, apiRoot) {
			continue
		}
		path := pathParam.ReplaceAllString(route.Path, "{$1}")
		if paths[path] == nil {
			paths[path] = map[string]any{}
		}
		paths[path][strings.ToLower(route.Method)] = operation(route)
	}
	return map[string]any{
		"openapi": "3.0.3",
		"info": map[string]any{"title": "AX", "version": r.o.Version,
			"description": "Instants are RFC 3339, ids are strings, a business date is 2026-02-03. Lists page by cursor: pass the cursor of an answer to get what comes after it; an empty one is the end. " +
				"Jobs, calendars and pools are named [project/]name; in a path the slash is written %2F, as in /api/v1/jobs/pay%2Forder_stat_daily."},
		"paths":    paths,
		"security": []any{map[string]any{"token": []any{}}},
		"components": map[string]any{
			"securitySchemes": map[string]any{"token": map[string]any{"type": "http", "scheme": "bearer"}},
			"schemas":         map[string]any{"Error": errorSchema()},
		},
	}
}

var pathParam = regexp.MustCompile(`:(\w+)`)

// operation describes one route.
func operation(route Route) map[string]any {
	d := route.Doc
	op := map[string]any{"operationId": operationID(route), "summary": d.Summary, "responses": responses(d)}
	if d.Summary == "" {
		op["summary"] = string(route.Action)
	}
	if route.Action == Public {
		op["security"] = []any{}
	} else if route.Action != AnyAccount {
		op["description"] = "Needs the permission " + string(route.Action) + "."
	}
	params := []any{}
	for _, m := range pathParam.FindAllStringSubmatch(route.Path, -1) {
		params = append(params, pathParameter(m[1]))
	}
	for _, p := range d.Query {
		kind := p.Kind
		if kind == "" {
			kind = "string"
		}
		params = append(params, map[string]any{"name": p.Name, "in": "query", "description": p.Text, "schema": map[string]any{"type": kind}})
	}
	if route.Creating {
		params = append(params, map[string]any{"name": headerKey, "in": "header", "schema": map[string]any{"type": "string", "maxLength": maxKey},
			"description": "A repeated call with the same key gets the first answer and does nothing again."})
	}
	if len(params) > 0 {
		op["parameters"] = params
	}
	if d.Body != nil {
		op["requestBody"] = map[string]any{"required": true, "content": content(d.Body)}
	}
	return op
}

// named are the parameters in a path that name something of a project.
var named = map[string]string{"job": "order_stat_daily", "calendar": "workdays", "pool": "warehouse"}

// pathParameter describes a parameter in the path. A name with a project is one segment of it.
func pathParameter(name string) map[string]any {
	p := map[string]any{"name": name, "in": "path", "required": true, "schema": map[string]any{"type": "string"}}
	if example, ok := named[name]; ok {
		p["description"] = "[project/]name, or the id. The project default needs no naming. In the path the slash is written %2F, and other characters are encoded as in any URL: pay%2F" + example + "."
		p["examples"] = map[string]any{"in the project default": map[string]any{"value": example}, "in the project pay, sent as pay%2F" + example: map[string]any{"value": "pay/" + example}}
	}
	return p
}

// operationID is the method and the words of the path.
func operationID(route Route) string {
	id := strings.ToLower(route.Method)
	for _, word := range strings.FieldsFunc(strings.TrimPrefix(route.Path, apiRoot), func(r rune) bool { return strings.ContainsRune("/:._-", r) }) {
		id += strings.ToUpper(word[:1]) + word[1:]
	}
	return id
}

func responses(d Doc) map[string]any {
	good := map[string]any{"description": "Done"}
	status := d.Status
	if status == 0 {
		status = http.StatusOK
		if d.Answer == nil {
			status = http.StatusNoContent
		}
	}
	if d.Answer != nil {
		good["content"] = content(d.Answer)
	}
	failed := map[string]any{"application/json": map[string]any{"schema": map[string]any{"$ref": "#/components/schemas/Error"}}}
	return map[string]any{strconv.Itoa(status): good, "default": map[string]any{"description": "Refused, and why", "content": failed}}
}

func content(v any) map[string]any {
	return map[string]any{"application/json": map[string]any{"schema": schemaOf(reflect.TypeOf(v))}}
}

func errorSchema() map[string]any {
	return map[string]any{"type": "object", "required": []string{"error"}, "properties": map[string]any{"error": schemaOf(reflect.TypeFor[failure]())}}
}

var (
	typeTime   = reflect.TypeFor[time.Time]()
	typeID     = reflect.TypeFor[domain.ID]()
	typeRaw    = reflect.TypeFor[json.RawMessage]()
	typeJSON   = reflect.TypeFor[json.Marshaler]()
	typeTextly = reflect.TypeFor[encoding.TextMarshaler]()
)

// schemaOf describes how encoding/json writes a type. What writes itself as JSON may be
// anything.
func schemaOf(t reflect.Type) map[string]any {
	switch {
	case t == typeTime:
		return map[string]any{"type": "string", "format": "date-time"}
	case t == typeID:
		return map[string]any{"type": "string"}
	case t.Kind() == reflect.Struct && t.ConvertibleTo(typeTime): // a moment in a form of its own
		return map[string]any{"type": "string", "format": "date-time", "nullable": true}
	case t == typeRaw || t.Kind() != reflect.Pointer && t.Implements(typeJSON):
		return map[string]any{}
	case t.Kind() != reflect.Pointer && t.Implements(typeTextly):
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		s := schemaOf(t.Elem())
		s["nullable"] = true
		return s
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer", "format": "int64"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Struct:
		props, required := map[string]any{}, []string{}
		fields(t, props, &required)
		s := map[string]any{"type": "object", "properties": props}
		if len(required) > 0 {
			s["required"] = required
		}
		return s
	}
	return map[string]any{}
}

// fields describes the fields of a struct; those of an embedded one are its own.
func fields(t reflect.Type, props map[string]any, required *[]string) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			fields(f.Type, props, required)
			continue
		}
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		props[name] = schemaOf(f.Type)
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}
