package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
)

// kubectl turns a recorded command into what somebody else does. It knows the
// commands that the recording has, and refuses others.
func kubectl(command string) (action, error) {
	if manifest, ok := strings.CutPrefix(command, "echo '"); ok {
		manifest, rest, _ := strings.Cut(manifest, "'")
		if !strings.HasSuffix(rest, "create -f -") {
			return action{}, unknownCommand(command)
		}
		return action{Create: manifest}, nil
	}
	command, patch, err := cutPatch(command)
	if err != nil {
		return action{}, err
	}
	words := strings.Fields(command)
	if len(words) < 6 || strings.Join(words[:3], " ") != "kubectl -n NAMESPACE" {
		return action{}, unknownCommand(command)
	}
	id, flags := kubectlKind(words[4])+"/"+words[5], words[6:]
	switch words[3] {
	case "create":
		return createAction(words[5], flags)
	case "delete":
		return action{Delete: id}, nil
	case "label":
		return action{Edit: id, Patch: map[string]any{"metadata": map[string]any{"labels": map[string]any{strings.TrimSuffix(flags[0], "-"): nil}}}}, nil
	case "patch":
		a := action{Edit: id, Patch: patch}
		for _, flag := range flags {
			if manager, ok := strings.CutPrefix(flag, "--field-manager="); ok {
				a.As = manager
			}
			a.Status = a.Status || flag == "--subresource=status"
		}
		return a, nil
	}
	return action{}, unknownCommand(command)
}

func unknownCommand(command string) error {
	return fmt.Errorf("nobody knows how to do this without kubectl: %s", command)
}

// cutPatch takes the patch out of a command.
func cutPatch(command string) (rest string, patch map[string]any, err error) {
	rest, text, has := strings.Cut(command, " -p '")
	if has {
		err = json.Unmarshal([]byte(strings.TrimSuffix(text, "'")), &patch)
	}
	return rest, patch, err
}

func kubectlKind(word string) string {
	switch word {
	case "cm", "configmap":
		return "ConfigMap"
	case "widgets.GROUP":
		return "Widget"
	}
	return word
}

// createAction is kubectl create configmap with literals.
func createAction(name string, flags []string) (action, error) {
	data := map[string]string{}
	for _, flag := range flags {
		literal, ok := strings.CutPrefix(flag, "--from-literal=")
		if !ok {
			return action{}, unknownCommand(flag)
		}
		key, value, _ := strings.Cut(literal, "=")
		data[key] = value
	}
	manifest, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": data})
	return action{Create: string(manifest)}, err
}
