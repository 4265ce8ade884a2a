package main

import (
	"crypto/rand"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/mcptap/mcptap/redact"
	redacting "github.com/mcptap/mcptap/redact/record"
	"github.com/mcptap/mcptap/tap"
)

// A redaction is what a tap does with secrets before they are recorded.
type redaction struct {
	redactFlags
	on bool
	// by is made when the flags are right: the same for all that is recorded, so
	// that a secret among the server's arguments is known in its frames.
	by *redact.Redactor
}

func (r *redaction) addFlags(f *pflag.FlagSet) {
	f.BoolVar(&r.on, "redact", false, "")
	f.StringArrayVar(&r.rules, "redact-rule", nil, "another `rule` of what is a secret, such as key:customer; implies --redact")
}

// check reads the rules, and makes a key that nobody keeps.
func (r *redaction) check() error {
	if r.on = r.on || len(r.rules) > 0; !r.on {
		return nil
	}
	opt, err := r.options()
	if err != nil {
		return err
	}
	if opt.Key, err = redactKey(""); err != nil {
		return err
	}
	r.by = redact.New(opt)
	return nil
}

// header is what a recording says of itself.
func (r *redaction) header(h tap.Header) tap.Header {
	if !r.on {
		return h
	}
	return r.by.Header(h)
}

// recorder stands before the recorder of a tap, once the header is made. What flush
// does is to be done before the recording is closed.
func (r *redaction) recorder(rec tap.Recorder) (to tap.Recorder, flush func()) {
	if !r.on {
		return rec, func() {}
	}
	masking := redacting.New(r.by, rec)
	return masking, masking.Flush
}

// redactKey is the key of pseudonyms: what a file holds, or a random one.
func redactKey(file string) ([]byte, error) {
	if file == "" {
		key := make([]byte, 32)
		_, err := rand.Read(key)
		return key, err
	}
	key, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--key-file: %w", err)
	}
	if len(key) < 16 {
		return nil, withHint(fmt.Errorf("--key-file: %s has %d bytes: too few for a key", quote(file), len(key)), "`head -c 32 /dev/urandom > key` makes one")
	}
	return key, nil
}
