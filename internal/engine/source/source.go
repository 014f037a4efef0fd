// Package source reads the files of a component, wherever they are kept, into
// one tree in memory. A source is read once: what is rendered, digested and
// recorded is the same content, whatever happens to the files meanwhile.
package source

import (
	"context"
	"fmt"
	"io/fs"
)

// Source is where a component's files come from (semantics.md, section 9).
// There is one file a kind of source in this package.
type Source interface {
	// Load reads all files. The artifact is complete or the error says what
	// is wrong with the source, all problems at once where that is possible.
	Load(ctx context.Context) (*Artifact, error)
}

// Artifact is the content of a source at one moment.
type Artifact struct {
	// FS holds the files. It is in memory and never changes.
	FS fs.FS
	// Inline says that the files are written in the configuration, so that
	// messages name them files["name"].
	Inline bool
	// Chart says that the user asked for a Helm chart: FS has a Chart.yaml.
	Chart bool
	// URL names the source as the user wrote it.
	URL string
	// Digest is "sha256:…" over paths and contents. Equal content has an equal
	// digest on every operating system: paths are written with slashes, and
	// neither modes nor times nor empty folders count.
	Digest string
	// Revision is the version of the content, when it says one itself.
	Revision string
}

// Limits of what is read into memory: far above any set of manifests, and
// small enough that a home directory or an archive bomb ends in a message.
const (
	maxBytes = 64 << 20
	maxFiles = 20_000
)

func tooLarge(what string) error {
	return fmt.Errorf("%s holds more than %d MiB: point the source at a folder that holds only the manifests", what, maxBytes>>20)
}

func tooMany(what string) error {
	return fmt.Errorf("%s holds more than %d files: point the source at a folder that holds only the manifests", what, maxFiles)
}
