package render

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/ignore"
)

// defaultKubeVersion is the Kubernetes release whose libraries we link. Helm's
// own default is the one that its authors forgot to set: v1.20.
const defaultKubeVersion = "v1.37.0"

// DefaultAPIVersions are the API versions that a chart sees when nothing is
// known about the cluster: those of Kubernetes itself.
func DefaultAPIVersions() []string {
	return append([]string{}, chartutil.DefaultVersionSet...)
}

// chartFiles reads the files of a chart as Helm's loader of directories does:
// without what .helmignore names, and without byte order marks.
func chartFiles(folder fs.FS) ([]*loader.BufferedFile, error) {
	rules, err := ignoreRules(folder)
	if err != nil {
		return nil, err
	}
	var files []*loader.BufferedFile
	err = fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		info, err := entry.Info()
		switch {
		case err != nil:
			return err
		case rules.Ignore(name, info) && info.IsDir():
			return fs.SkipDir
		case rules.Ignore(name, info) || info.IsDir():
			return nil
		}
		content, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
		files = append(files, &loader.BufferedFile{Name: name, Data: unixLines(name, content)})
		return nil
	})
	return files, err
}

func ignoreRules(folder fs.FS) (*ignore.Rules, error) {
	text, err := fs.ReadFile(folder, ignore.HelmIgnore)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	rules, err := ignore.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ignore.HelmIgnore, err)
	}
	rules.AddDefaults()
	return rules, nil
}

var templatePath = regexp.MustCompile(`^(charts/[^/]+/)*templates/`)

// unixLines takes Windows line ends out of a template. YAML does not care, but
// a checksum that a chart takes over one of its templates does, and would
// restart pods when another machine checks the chart out. Files that a chart
// reads as content stay as they are.
func unixLines(name string, content []byte) []byte {
	if !templatePath.MatchString(name) {
		return content
	}
	return bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
}

// loadChart parses the files into a chart of its own: rendering changes it.
func loadChart(files []*loader.BufferedFile) (*chart.Chart, error) {
	fresh := make([]*loader.BufferedFile, len(files))
	for i, file := range files {
		fresh[i] = &loader.BufferedFile{Name: file.Name, Data: file.Data}
	}
	loaded, err := loader.LoadFiles(fresh)
	if err != nil {
		return nil, fmt.Errorf("the Helm chart cannot be loaded: %w", err)
	}
	return loaded, nil
}

// checkChart refuses what Helm refuses before it renders anything.
func checkChart(loaded *chart.Chart, caps *chartutil.Capabilities) error {
	var problems []error
	metadata := loaded.Metadata
	if metadata.Type != "" && metadata.Type != "application" {
		problems = append(problems, fmt.Errorf("%s charts are not installable: chart %q only helps other charts", metadata.Type, metadata.Name))
	}
	if missing := missingDependencies(loaded); len(missing) > 0 {
		problems = append(problems, fmt.Errorf("chart %q names dependencies in Chart.yaml that are missing in its charts/ folder: %s; run `helm dependency update` on the chart first",
			metadata.Name, strings.Join(missing, ", ")))
	}
	if want, have := metadata.KubeVersion, caps.KubeVersion.String(); want != "" && !chartutil.IsCompatibleRange(want, have) {
		problems = append(problems, fmt.Errorf("chart %q requires kubeVersion: %s which is incompatible with Kubernetes %s", metadata.Name, want, have))
	}
	return errors.Join(problems...)
}

func missingDependencies(loaded *chart.Chart) []string {
	present := map[string]bool{}
	for _, dependency := range loaded.Dependencies() {
		present[dependency.Name()] = true
	}
	var missing []string
	for _, dependency := range loaded.Metadata.Dependencies {
		if !present[dependency.Name] {
			missing = append(missing, dependency.Name)
		}
	}
	return missing
}

// capabilities describes the cluster to the templates.
func capabilities(in Input) (*chartutil.Capabilities, error) {
	version := in.KubeVersion
	if version == "" {
		version = defaultKubeVersion
	}
	parsed, err := chartutil.ParseKubeVersion(version)
	if err != nil {
		return nil, fmt.Errorf("the Kubernetes version %q cannot be read: %w", version, err)
	}
	// The suffix of a distribution stays: charts look for "-gke" and "-eks".
	parsed.Version = "v" + strings.TrimPrefix(version, "v")
	caps := chartutil.DefaultCapabilities.Copy()
	caps.KubeVersion = *parsed
	caps.APIVersions = DefaultAPIVersions()
	if len(in.APIVersions) > 0 {
		caps.APIVersions = append(chartutil.VersionSet{}, in.APIVersions...)
	}
	return caps, nil
}

// chartPath takes the name of the root chart from a path of Helm's, so that it
// is a path within the source.
func chartPath(in Input, helmPath string) string {
	_, inner, _ := strings.Cut(helmPath, "/")
	return path.Join(in.root(), inner)
}
