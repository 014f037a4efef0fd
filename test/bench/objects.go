package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// An object is a manifest and the part of it that the bare client needs.
type object struct {
	name     string
	manifest string // with a %s where the namespace belongs, if it names one
}

// configMaps returns small ConfigMaps without a namespace.
func configMaps(count int) []object {
	objects := make([]object, count)
	for i := range objects {
		name := fmt.Sprintf("settings-%04d", i)
		objects[i] = object{name, configMap(name, "", "info")}
	}
	return objects
}

// changed returns the same ConfigMaps with another value in each.
func changed(objects []object) []object {
	for i := range objects {
		objects[i].manifest = configMap(objects[i].name, "", "debug")
	}
	return objects
}

// mixed returns objects of three kinds in three namespaces.
func mixed(count int) []object {
	objects := make([]object, count)
	for i := range objects {
		name := fmt.Sprintf("object-%04d", i)
		namespace := fmt.Sprintf("bench-requests-%d", i%3)
		switch i / 3 % 3 {
		case 0:
			objects[i] = object{name, configMap(name, namespace, "info")}
		case 1:
			objects[i] = object{name, meta("Secret", name, namespace) + "stringData:\n  token: not-a-real-token\n"}
		default:
			objects[i] = object{name, meta("ServiceAccount", name, namespace) + "automountServiceAccountToken: false\n"}
		}
	}
	return objects
}

func configMap(name, namespace, level string) string {
	return meta("ConfigMap", name, namespace) + fmt.Sprintf(`data:
  LOG_LEVEL: %s
  GREETING: "hello, this is %s"
  application.properties: |
    cache.seconds = 300
    database.host = database
    database.name = %s
`, level, name, name)
}

func meta(kind, name, namespace string) string {
	text := fmt.Sprintf("apiVersion: v1\nkind: %s\nmetadata:\n  name: %s\n", kind, name)
	if namespace != "" {
		text += "  namespace: " + namespace + "\n"
	}
	return text + "  labels:\n    app.kubernetes.io/name: bench\n"
}

// writeObjects writes a file for each object.
func writeObjects(dir string, objects []object) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, o := range objects {
		if err := os.WriteFile(filepath.Join(dir, o.name+".yaml"), []byte(o.manifest), 0o600); err != nil {
			return err
		}
	}
	return nil
}
