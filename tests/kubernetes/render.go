// render CHART RELEASE NAMESPACE [VALUES.yaml]...: prints what the templates of a Helm chart make of its values, in the template
// language and with the function library (Sprig) that Helm is made of. For machines without `helm`.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}

func readYaml(file string) map[string]interface{} {
	bytes, err := os.ReadFile(file)
	check(err)
	values := map[string]interface{}{}
	check(yaml.Unmarshal(bytes, &values))
	return values
}

// As Helm lays one file of values over another: maps by key, everything else as a whole.
func merge(under, over map[string]interface{}) {
	for key, value := range over {
		if inner, isMap := value.(map[string]interface{}); isMap {
			if old, wasMap := under[key].(map[string]interface{}); wasMap {
				merge(old, inner)
				continue
			}
		}
		under[key] = value
	}
}

func functions(all *template.Template) template.FuncMap {
	functions := sprig.TxtFuncMap()
	functions["toYaml"] = func(value interface{}) (string, error) {
		var out bytes.Buffer
		encoder := yaml.NewEncoder(&out)
		encoder.SetIndent(2)
		err := encoder.Encode(value)
		return strings.TrimSuffix(out.String(), "\n"), err
	}
	functions["toJson"] = func(value interface{}) (string, error) {
		out, err := json.Marshal(value)
		return string(out), err
	}
	functions["include"] = func(name string, data interface{}) (string, error) {
		var out strings.Builder
		err := all.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	return functions
}

func main() {
	chart, release, namespace := os.Args[1], os.Args[2], os.Args[3]
	values := readYaml(filepath.Join(chart, "values.yaml"))
	for _, file := range os.Args[4:] {
		merge(values, readYaml(file))
	}
	about := readYaml(filepath.Join(chart, "Chart.yaml"))
	data := map[string]interface{}{
		"Values":  values,
		"Release": map[string]interface{}{"Name": release, "Namespace": namespace, "Service": "Helm"},
		"Chart":   map[string]interface{}{"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]},
	}
	all := template.New("chart").Option("missingkey=error")
	all.Funcs(functions(all))
	files, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	check(err)
	sort.Strings(files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(err)
		_, err = all.New(filepath.Base(file)).Parse(string(text))
		check(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		var out strings.Builder
		check(all.ExecuteTemplate(&out, name, data))
		if text := strings.TrimSpace(out.String()); text != "" {
			fmt.Printf("---\n%s\n", text)
		}
	}
}
