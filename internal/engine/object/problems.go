package object

// Problems takes joined errors apart (see [errors.Join]), however deep they are
// joined: everything that is wrong is collected as one error and reported one
// by one. There are none in nil.
func Problems(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, part := range joined.Unwrap() {
		all = append(all, Problems(part)...)
	}
	return all
}
