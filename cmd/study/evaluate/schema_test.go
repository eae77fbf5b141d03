package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mrprism/cmd/study/internal/compare"
	"mrprism/cmd/study/internal/evaluate"
	"mrprism/cmd/study/internal/plan"
	"mrprism/cmd/study/internal/readers"
	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/segment/segmenttest"
	"mrprism/internal/study/agree"

	"github.com/stretchr/testify/require"
)

// object is a JSON object.
type object = map[string]any

// TestSchemas checks real reports against the schemas. If a report has changed on purpose,
// go test ./evaluate -run Schemas -update writes them anew.
func TestSchemas(t *testing.T) {
	data, about := studytest.Synthesise(t)
	model, fundus, levels := studytest.WeightsFile(t, about, nil), studytest.WeightsFile(t, segmenttest.Fundus(), nil), studytest.LevelData(t)
	centres := studytest.CentresFile(t, "name,cx,cy,r\na,.5,.5,.2\nb,,,\n", "a.png", "b.png")
	predictions := shifted(t, data, t.TempDir(), 3)
	require.NoError(t, os.Remove(filepath.Join(predictions, "cup", "case0004.npy")))
	for _, c := range []struct {
		schema string
		of     any
		code   int
		args   []string
	}{
		{"raters", agree.Report{}, 0, []string{"raters", data}},
		{"raters", agree.Report{}, 0, []string{"raters", levels}},
		{"readers", readers.Report{}, 0, append([]string{"readers"}, readingStudy(t)...)},
		{"plan", plan.Report{}, 0, append([]string{"plan", "-figure", "ratio", "-difference", ".05"}, readingStudy(t)...)},
		{"compare", compare.Comparison{}, 1, []string{"compare", "-weights", "one=" + model, "-predictions", "moved=" + predictions, "-data", data, "-on", "all"}},
		{"evaluate", evaluate.Report{}, 0, []string{"-weights", fundus, "-data", levels, "-roi", "auto", "-changed", "-centres", centres, "-recurrences", "0"}},
		{"evaluate", evaluate.Report{}, 0, []string{"-weights", model, "-data", data, "-on", "all", "-recurrences", "0"}},
	} {
		file, out, name := c.schema+".schema.json", filepath.Join(t.TempDir(), "out"), "report.json"
		if c.schema == "raters" {
			name = "raters.json"
		} else if c.schema != "readers" && c.schema != "plan" {
			c.args = append(c.args, "-device", "processor")
		}
		if *update {
			s := schemas{object{}, map[string]map[string]string{}}
			whole := s.of(reflect.TypeOf(c.of))
			whole["$schema"], whole["$defs"] = "https://json-schema.org/draft/2020-12/schema", s.defs
			whole["title"] = name + " of evaluate " + strings.TrimPrefix(c.schema, "evaluate")
			text, err := json.MarshalIndent(whole, "", " ")
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, append(text, '\n'), 0o644))
		}
		var schema object
		require.NoError(t, json.Unmarshal(studytest.ReadFile(t, file), &schema))
		var stdout, stderr strings.Builder
		require.Equal(t, c.code, run(t.Context(), append(c.args, "-out", out), &stdout, &stderr), stderr.String())
		var report any
		require.NoError(t, json.Unmarshal(studytest.ReadFile(t, filepath.Join(out, name)), &report))
		require.Empty(t, violation(schema, schema, report, "report"), "%s: does the schema lack a change? See TestSchemas", file)
		field, kind := "images", "integer"
		if c.schema == "plan" {
			field, kind = "power", "number"
		}
		report.(object)[field] = "many"
		require.Equal(t, "report."+field+" is string, not ["+kind+"]", violation(schema, schema, report, "report"))
		delete(report.(object), field)
		require.Equal(t, "report lacks "+field, violation(schema, schema, report, "report"))
	}
}

// violation says where a value is not of a schema; empty if it is. It knows the words that schemas
// writes: $ref, anyOf, type, properties, required, additionalProperties, items.
func violation(root, schema object, v any, at string) string {
	if ref, is := schema["$ref"].(string); is {
		return violation(root, root["$defs"].(object)[strings.TrimPrefix(ref, "#/$defs/")].(object), v, at)
	}
	if either, is := schema["anyOf"].([]any); is {
		first := ""
		for _, one := range either {
			if first = violation(root, one.(object), v, at); first == "" || v != nil {
				return first
			}
		}
		return first
	}
	kind := map[reflect.Kind]string{reflect.Map: "object", reflect.Slice: "array", reflect.String: "string", reflect.Bool: "boolean", reflect.Float64: "number", reflect.Invalid: "null"}[reflect.ValueOf(v).Kind()]
	if n, is := v.(float64); is && schema["type"] == "integer" && n == float64(int(n)) {
		kind = "integer"
	}
	want, typed := schema["type"].([]any)
	if one, is := schema["type"].(string); is {
		want, typed = []any{one}, true
	}
	if typed && !slices.Contains(want, any(kind)) {
		return fmt.Sprintf("%s is %s, not %v", at, kind, want)
	}
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			items, _ := schema["items"].(object)
			if bad := violation(root, items, item, fmt.Sprintf("%s[%d]", at, i)); bad != "" {
				return bad
			}
		}
	case object:
		required, _ := schema["required"].([]any)
		for _, name := range required {
			if _, has := v[name.(string)]; !has {
				return fmt.Sprintf("%s lacks %v", at, name)
			}
		}
		properties, _ := schema["properties"].(object)
		for name, value := range v {
			of, known := properties[name].(object)
			if !known && schema["additionalProperties"] == false {
				return fmt.Sprintf("%s has an unknown %s", at, name)
			} else if !known {
				of, _ = schema["additionalProperties"].(object) // nil: anything
			}
			if bad := violation(root, of, value, at+"."+name); bad != "" {
				return bad
			}
		}
	}
	return ""
}

// schemas makes a JSON schema of Go's types and of the comments on their fields.
type schemas struct {
	defs     object
	comments map[string]map[string]string // by package, then TYPE.FIELD
}

func (s schemas) of(t reflect.Type) object {
	switch t.Kind() {
	case reflect.Pointer:
		return object{"anyOf": []any{s.of(t.Elem()), object{"type": "null"}}}
	case reflect.Slice:
		return object{"type": []string{"array", "null"}, "items": s.of(t.Elem())}
	case reflect.Array:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": []string{"object", "null"}, "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		name := strings.ReplaceAll(strings.TrimPrefix(t.String(), "*"), ".", "-")
		if s.defs[name] == nil {
			one := object{"type": "object", "properties": object{}, "required": []string{}, "additionalProperties": false}
			s.defs[name] = one
			s.fields(one, t, true)
		}
		return object{"$ref": "#/$defs/" + name}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Interface:
		return object{}
	}
	return object{"type": "integer"}
}

// fields adds those of a struct. sure: it is not embedded as a pointer, which may be nil.
func (s schemas) fields(one object, t reflect.Type, sure bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			of, pointer := f.Type, f.Type.Kind() == reflect.Pointer
			if pointer {
				of = of.Elem()
			}
			if of.Kind() == reflect.Struct {
				s.fields(one, of, sure && !pointer)
			}
			continue
		case name == "-" || !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		property := s.of(f.Type)
		if text := s.comment(t, f.Name); text != "" {
			property["description"] = text
		}
		one["properties"].(object)[name] = property
		if sure && !strings.Contains(options, "omitempty") {
			one["required"] = append(one["required"].([]string), name)
		}
	}
}

// comment is the one on a field, in a line.
func (s schemas) comment(t reflect.Type, field string) string {
	if s.comments[t.PkgPath()] == nil {
		found := map[string]string{}
		s.comments[t.PkgPath()] = found
		paths, _ := filepath.Glob(filepath.Join("..", "..", "..", strings.TrimPrefix(t.PkgPath(), "mrprism/"), "*.go"))
		for _, path := range slices.DeleteFunc(paths, func(path string) bool { return strings.HasSuffix(path, "_test.go") }) {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			if err != nil {
				panic(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				spec, is := n.(*ast.TypeSpec)
				if !is {
					return true
				}
				if of, is := spec.Type.(*ast.StructType); is {
					for _, f := range of.Fields.List {
						for _, name := range f.Names {
							found[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()+f.Comment.Text()), " ")
						}
					}
				}
				return true
			})
		}
	}
	return s.comments[t.PkgPath()][t.Name()+"."+field]
}
