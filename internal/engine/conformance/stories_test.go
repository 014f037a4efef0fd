package conformance

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// together is how many stories are played at the same time: most of a story is
// waiting for the cluster.
const together = "4"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", together); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// total counts the stories and steps that came out well.
type total struct {
	stories, steps, rightStories, rightSteps atomic.Int64
}

func (c *total) count(s story, right int) {
	c.stories.Add(1)
	c.steps.Add(int64(len(s.Steps)))
	c.rightSteps.Add(int64(right))
	if right == len(s.Steps) {
		c.rightStories.Add(1)
	}
}

func (c *total) print(t *testing.T, what string) {
	t.Logf("%s: %d of %d stories, %d of %d steps", what, c.rightStories.Load(), c.stories.Load(), c.rightSteps.Load(), c.steps.Load())
}

// TestStories plays our own stories.
func TestStories(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("stories", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no stories: %v", err)
	}
	var all total
	t.Run("all", func(t *testing.T) {
		for _, file := range files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
				t.Parallel()
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				s, err := readStory(text)
				if err != nil {
					t.Fatal(err)
				}
				right := 0
				defer func() { all.count(s, right) }()
				right = play(t, s)
			})
		}
	})
	all.print(t, "our stories")
}
