package source

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// archive packs entries in order. Without a type they are regular files, whose
// content is in Linkname to keep the tables short.
func archive(t testing.TB, entries ...tar.Header) string {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	packed := tar.NewWriter(zipped)
	for _, header := range entries {
		content := ""
		if header.Typeflag == 0 {
			header.Typeflag, content, header.Linkname = tar.TypeReg, header.Linkname, ""
		}
		header.Size, header.Mode = int64(len(content)), 0o644
		if err := packed.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := packed.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	for _, closer := range []interface{ Close() error }{packed, zipped} {
		if err := closer.Close(); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(t.TempDir(), "chart.tgz")
	if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

const chartYAML = "apiVersion: v2\nname: app\nversion: 1.2.3\n"

func TestHelmChart(t *testing.T) {
	folder := write(t, map[string]string{"Chart.yaml": chartYAML, "templates/a.yaml": "a", ".helmignore": "*.md\n", "x.md": ""})
	packed := archive(t,
		tar.Header{Name: "app/", Typeflag: tar.TypeDir},
		tar.Header{Name: "app/Chart.yaml", Linkname: chartYAML},
		tar.Header{Name: "./app/templates/a.yaml", Linkname: "a"},
		tar.Header{Name: `app\templates\b.yaml`, Linkname: "b"},
		tar.Header{Name: "app/.helmignore", Linkname: "*.md\n"},
		tar.Header{Name: "app/docs/x.md", Linkname: "x"},
		tar.Header{Name: "app/x.md", Linkname: "docs/x.md", Typeflag: tar.TypeSymlink},
		tar.Header{Name: "app/y.md", Linkname: "app/x.md", Typeflag: tar.TypeLink},
	)
	tests := map[string]struct {
		path string
		want map[string]string
	}{
		"a directory": {folder, map[string]string{
			"Chart.yaml": chartYAML, "templates/a.yaml": "a", ".helmignore": "*.md\n", "x.md": "",
		}},
		"an archive, whose rules of ignored files were applied when it was packed": {packed, map[string]string{
			"Chart.yaml": chartYAML, "templates/a.yaml": "a", "templates/b.yaml": "b", "docs/x.md": "x", "x.md": "x", "y.md": "x",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			artifact, err := HelmChart{test.path}.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, read(t, artifact)); diff != "" {
				t.Errorf("contents (-want +got):\n%s", diff)
			}
			if !artifact.Chart || artifact.Revision != "1.2.3" || artifact.URL != "chart "+filepath.ToSlash(test.path) {
				t.Errorf("unexpected artifact: %+v", artifact)
			}
		})
	}
}

func TestHelmChartRefusals(t *testing.T) {
	chart := tar.Header{Name: "app/Chart.yaml", Linkname: chartYAML}
	plain := filepath.Join(write(t, map[string]string{"values.yaml": "a: 1\n"}), "values.yaml")
	tests := map[string]struct {
		path string
		want string
	}{
		"an empty path":                {"", "path of the chart is empty"},
		"a path that is not":           {"/nowhere/chart.tgz", `chart "/nowhere/chart.tgz" does not exist`},
		"a directory without chart":    {write(t, map[string]string{"a.yaml": ""}), "it has no Chart.yaml"},
		"a broken Chart.yaml":          {write(t, map[string]string{"Chart.yaml": "a: ["}), "Chart.yaml"},
		"a file that is no archive":    {plain, "is not a gzipped tar archive"},
		"an archive without chart":     {archive(t, tar.Header{Name: "app/x", Linkname: "x"}), "it has no Chart.yaml"},
		"files beside the folder":      {archive(t, chart, tar.Header{Name: "x", Linkname: "x"}), `"x" lies beside the chart's folder`},
		"two folders":                  {archive(t, chart, tar.Header{Name: "b/x", Linkname: "x"}), "several top folders"},
		"a path above":                 {archive(t, chart, tar.Header{Name: "app/../../x", Linkname: "x"}), `"app/../../x" in the archive lies outside`},
		"a path above, with backslash": {archive(t, chart, tar.Header{Name: `app\..\..\x`, Linkname: "x"}), "lies outside"},
		"an absolute path":             {archive(t, chart, tar.Header{Name: "/etc/x", Linkname: "x"}), `"/etc/x" in the archive lies outside`},
		"a path with a drive":          {archive(t, chart, tar.Header{Name: "c:/x", Linkname: "x"}), "lies outside"},
		"a link above":                 {archive(t, chart, tar.Header{Name: "app/l", Linkname: "../../x", Typeflag: tar.TypeSymlink}), "is a link out of it"},
		"an absolute link":             {archive(t, chart, tar.Header{Name: "app/l", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}), "is a link out of it"},
		"a hard link above":            {archive(t, chart, tar.Header{Name: "app/l", Linkname: "../x", Typeflag: tar.TypeLink}), "is a link out of it"},
		"a link to nothing":            {archive(t, chart, tar.Header{Name: "app/l", Linkname: "x", Typeflag: tar.TypeSymlink}), `is a link to "app/x", which is no file`},
		"links in a circle": {archive(t, chart,
			tar.Header{Name: "app/l", Linkname: "m", Typeflag: tar.TypeSymlink},
			tar.Header{Name: "app/m", Linkname: "l", Typeflag: tar.TypeSymlink}), "which is no file"},
		"a device":               {archive(t, chart, tar.Header{Name: "app/null", Typeflag: tar.TypeChar}), `"app/null" in the archive is not a regular file`},
		"a pipe":                 {archive(t, chart, tar.Header{Name: "app/pipe", Typeflag: tar.TypeFifo}), "is not a regular file"},
		"a file that is folder":  {archive(t, chart, tar.Header{Name: "app/a", Linkname: "x"}, tar.Header{Name: "app/a/b", Linkname: "x"}), "both a file and a folder"},
		"the root as a file":     {archive(t, chart, tar.Header{Name: "./", Linkname: "x", Typeflag: tar.TypeSymlink}), "is not the name of a file"},
		"an archive cut in half": {half(t, archive(t, chart)), "the archive cannot be unpacked"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := HelmChart{test.path}.Load(t.Context())
			wantError(t, err, test.want)
		})
	}
}

func half(t *testing.T, name string) string {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, info.Size()/2); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestArchiveLimits(t *testing.T) {
	bomb := archive(t, tar.Header{Name: "app/zeros", Linkname: strings.Repeat("\x00", maxBytes+1)})
	if info, err := os.Stat(bomb); err != nil || info.Size() > 1<<20 {
		t.Fatalf("the archive is no bomb: %v, %v", info.Size(), err)
	}
	_, err := HelmChart{bomb}.Load(t.Context())
	wantError(t, err, "more than 64 MiB")

	many := make([]tar.Header, maxFiles+1)
	for i := range many {
		many[i] = tar.Header{Name: "app/d" + strings.Repeat("i", i%7), Typeflag: tar.TypeDir}
	}
	_, err = HelmChart{archive(t, many...)}.Load(t.Context())
	wantError(t, err, "more than 20000 files")
}

func FuzzUnpack(f *testing.F) {
	for _, entries := range [][]tar.Header{
		{{Name: "app/Chart.yaml", Linkname: chartYAML}},
		{{Name: "../x", Linkname: "x"}, {Name: "a", Linkname: "b", Typeflag: tar.TypeSymlink}},
	} {
		content, err := os.ReadFile(archive(f, entries...))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		files, err := unpack(t.Context(), bytes.NewReader(content))
		if err != nil {
			return
		}
		for name := range files {
			if strings.HasPrefix(name, "/") || strings.Contains("/"+name+"/", "/../") {
				t.Errorf("unpacked to %q", name)
			}
		}
		newTree(files)
	})
}
