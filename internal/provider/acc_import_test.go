package provider_test

import (
	"strings"
	"testing"
)

// What is in the cluster comes back into a state: the next plan is at most an update in place.
func TestAccComponentImport(t *testing.T) {
	ids := []string{"ConfigMap/NAMESPACE/settings", "Secret/NAMESPACE/password", "Service/NAMESPACE/web", "Deployment.apps/NAMESPACE/web"}
	forgotten := func(t *testing.T) *story {
		s := newStory(t, "import")
		s.files(shop)
		s.component()
		s.apply()
		s.removeFile("terraform.tfstate")
		return s
	}
	expectNoReplacement := func(s *story, said string) {
		s.Helper()
		if !strings.Contains(said, "0 to add, 1 to change, 0 to destroy") {
			s.Errorf("the plan is not at most an update:\n%s", said)
		}
	}
	t.Run("with the command", func(t *testing.T) {
		s := forgotten(t)
		before := s.uids(ids...)
		s.expectSays(s.refused(), "The component exists already", "terraform import component.NAME NAMESPACE/web")
		s.terraform(0, "import", "-no-color", "-input=false", "component.web", s.place("NAMESPACE/web"))
		said := s.plan()
		s.golden("import", said)
		expectNoReplacement(s, said)
		versions := s.versions()
		s.apply()
		s.expectSame(before)
		s.expectVersions("the apply after the import", versions)
		if web := s.web(); web.Revision != 1 || len(web.Objects) != 5 {
			t.Errorf("the state is %+v", web)
		}
		s.destroy()
	})
	t.Run("B33 with a block, an object missing and another one changed", func(t *testing.T) {
		s := forgotten(t)
		s.delete("ConfigMap/NAMESPACE/spare")
		s.set("ConfigMap/NAMESPACE/settings", "debug", "data", "LOG_LEVEL")
		before := s.uids(ids...)
		s.file("import.tf", "import {\n  to = component.web\n  id = \"NAMESPACE/web\"\n}\n")
		said := s.plan()
		if !strings.Contains(said, "1 to import, 0 to add, 1 to change, 0 to destroy") {
			t.Errorf("the plan is not at most an update:\n%s", said)
		}
		s.apply()
		s.expectSame(before)
		s.expectExists("ConfigMap/NAMESPACE/spare")
	})
	t.Run("ids that are none", func(t *testing.T) {
		s := newStory(t, "import")
		s.files(shop)
		s.component()
		for _, id := range []string{"web", "/web", "shop/", "shop/web/x"} {
			s.expectSays(s.terraform(failure, "import", "-no-color", "-input=false", "component.web", id), "Invalid import id", "is not of the form")
		}
		said := s.terraform(failure, "import", "-no-color", "-input=false", "component.web", s.place("NAMESPACE/nothing"))
		s.expectSays(said, "Cannot import non-existent remote object")
	})
}
