package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// Reason is what an API error means to the engine. It is decided here and
// nowhere else.
type Reason string

const (
	// Other is an error that the engine has no rule for.
	Other Reason = "Other"
	// NotFound: the object does not exist.
	NotFound Reason = "NotFound"
	// NotServed: the kind is not served (yet).
	NotServed Reason = "NotServed"
	// NamespaceMissing: the namespace of the object does not exist.
	NamespaceMissing Reason = "NamespaceMissing"
	// NamespaceTerminating: the namespace of the object is being deleted.
	NamespaceTerminating Reason = "NamespaceTerminating"
	// Conflict: the object exists, or is another version than the one read.
	Conflict Reason = "Conflict"
	// Forbidden: the user has no right to do it.
	Forbidden Reason = "Forbidden"
	// Denied: an admission policy, webhook or quota refuses it.
	Denied Reason = "Denied"
	// Unauthorized: the credentials were refused.
	Unauthorized Reason = "Unauthorized"
	// Invalid: the object cannot be accepted as it is written.
	Invalid Reason = "Invalid"
	// Unreachable: no answer from the API server.
	Unreachable Reason = "Unreachable"
	// Transient: a fault that a retry can heal.
	Transient Reason = "Transient"
	// Webhook: an admission webhook did not answer.
	Webhook Reason = "Webhook"
	// TooLarge: the request is larger than the API server accepts.
	TooLarge Reason = "TooLarge"
)

func asNotServed(err error, target **NotServedError) bool { return errors.As(err, target) }

// ReasonOf classifies an error of an API call. Server-side apply reports
// schema errors as 500 without a reason; a webhook that fails is 500 with
// reason InternalError; an unknown group is a 404 that is no Status.
func ReasonOf(err error) Reason {
	var notServed *NotServedError
	if asNotServed(err, &notServed) {
		return NotServed
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return reasonOfTransport(err)
	}
	switch s := status.Status(); s.Code {
	case http.StatusNotFound:
		return reasonOf404(s)
	case http.StatusConflict:
		return Conflict
	case http.StatusUnauthorized:
		return Unauthorized
	case http.StatusForbidden:
		return reasonOf403(s)
	case http.StatusRequestEntityTooLarge:
		return TooLarge
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusUnsupportedMediaType, http.StatusMethodNotAllowed:
		return reasonOfInvalid(s)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusBadGateway:
		return Transient
	case http.StatusInternalServerError:
		return reasonOf500(s)
	default:
		return Other
	}
}

func reasonOfTransport(err error) Reason {
	var netErr net.Error
	switch {
	case errors.Is(err, errNoAnswer):
		return Unreachable
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Other
	case utilnet.IsConnectionRefused(err), utilnet.IsConnectionReset(err), utilnet.IsProbableEOF(err),
		utilnet.IsHTTP2ConnectionLost(err), errors.As(err, &netErr):
		return Unreachable
	default:
		return Other
	}
}

func reasonOf404(s metav1.Status) Reason {
	switch {
	case s.Details == nil || s.Details.Kind == "" && s.Details.Name == "":
		return NotServed
	case s.Details.Kind == "namespaces":
		return NamespaceMissing
	case strings.Contains(s.Message, "the server could not find the requested resource"):
		return NotServed
	default:
		return NotFound
	}
}

func reasonOf403(s metav1.Status) Reason {
	if s.Details != nil {
		for _, cause := range s.Details.Causes {
			if string(cause.Type) == "NamespaceTerminating" {
				return NamespaceTerminating
			}
		}
	}
	switch {
	case deniedByAdmission(s):
		return Denied
	case strings.Contains(s.Message, "cannot ") && strings.Contains(s.Message, "User "),
		strings.Contains(s.Message, "attempting to grant RBAC permissions"):
		return Forbidden
	default:
		return Denied
	}
}

// deniedByAdmission recognises the words of admission policies and webhooks.
// What follows them is the policy author's own text.
func deniedByAdmission(s metav1.Status) bool {
	return strings.Contains(s.Message, "denied request") || strings.Contains(s.Message, "denied the request")
}

func reasonOfInvalid(s metav1.Status) Reason {
	switch {
	case deniedByAdmission(s):
		return Denied
	case s.Details != nil && slices.ContainsFunc(s.Details.Causes, isUID):
		// The object that was read is gone; there is another one of its name.
		return Conflict
	default:
		return Invalid
	}
}

func isUID(cause metav1.StatusCause) bool { return cause.Field == "metadata.uid" }

func reasonOf500(s metav1.Status) Reason {
	switch {
	case strings.Contains(s.Message, "failed calling webhook"):
		return Webhook
	case s.Reason == metav1.StatusReasonInternalError, s.Reason == metav1.StatusReasonServerTimeout,
		s.Reason == metav1.StatusReasonTimeout, strings.Contains(s.Message, "etcdserver:"):
		return Transient
	default:
		return Invalid
	}
}

// IsImmutable reports whether the server refused a change because a field
// cannot be changed on an existing object.
func IsImmutable(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code != http.StatusUnprocessableEntity {
		return false
	}
	text := status.Status().Message
	return slices.ContainsFunc(immutableWords, func(words string) bool { return strings.Contains(text, words) })
}

// immutableWords are how API servers say that a field cannot be changed.
var immutableWords = []string{
	"immutable", "Forbidden: updates to", "may not change once set", "may not be changed in an update", "cannot change roleRef",
	"updates may not change fields other than",
}

// undeclared is what an API server says of the first field that its schema does
// not have. It names the field, and no value.
var undeclared = regexp.MustCompile(`, Kind=Secret\): (\.[A-Za-z0-9_.-]+): field not declared in schema$`)

// Message returns what the server said, without the client's own words before
// it. Errors about a Secret are reduced to their reason: the text may quote
// the Secret.
func Message(err error, secret bool) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err.Error()
	}
	s := status.Status()
	if !secret {
		return s.Message
	}
	reason := string(s.Reason)
	if reason == "" || reason == string(metav1.StatusReasonUnknown) {
		reason = string(ReasonOf(err))
	}
	text := fmt.Sprintf("%s (%d)", reason, s.Code)
	if match := undeclared.FindStringSubmatch(s.Message); match != nil {
		text += fmt.Sprintf("; field %s is not in the schema", match[1])
	}
	if s.Details != nil {
		for _, cause := range s.Details.Causes {
			text += fmt.Sprintf("; field %s: %s", cause.Field, cause.Type)
		}
	}
	return text + "; the server's text is not shown, for it may quote the Secret"
}
