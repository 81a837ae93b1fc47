// Command reference-parsers says what Kubernetes and Go make of texts, so that tests can hold our
// parsers against theirs.
//
// Every line of its input is a JSON list of a parser's name and a text. The line that answers it is
// the value as a JSON string in the one form that equal values have, or null where the text is
// refused.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// Longest line of the input, in bytes.
const longestLine = 1 << 20

// A parser's value, and whether it accepts the text at all.
type parser func(text string) (value string, accepted bool)

var parsers = map[string]parser{
	"duration":    duration,
	"label":       valid(validation.IsDNS1123Label),
	"label-value": valid(validation.IsValidLabelValue),
	"quantity":    quantity,
	"subdomain":   valid(validation.IsDNS1123Subdomain),
	"time":        moment,
	"vhost":       vhost,
	"yaml":        document,
}

func main() {
	if err := answer(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func answer() error {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, longestLine)
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	for lines.Scan() {
		var question [2]string
		if err := json.Unmarshal(lines.Bytes(), &question); err != nil {
			return fmt.Errorf("cannot read %q: %w", lines.Text(), err)
		}
		parse, known := parsers[question[0]]
		if !known {
			return fmt.Errorf("no parser is called %q", question[0])
		}
		var answer any
		if value, accepted := parse(question[1]); accepted {
			answer = value
		}
		if err := encoder.Encode(answer); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return out.Flush()
}

// A quantity as an integer and a power of ten: "5e-1".
func quantity(text string) (string, bool) {
	parsed, err := resource.ParseQuantity(text)
	if err != nil {
		return "", false
	}
	amount := parsed.AsDec()
	digits, scale := amount.UnscaledBig().String(), int64(amount.Scale())
	if digits == "0" {
		return "0e0", true
	}
	for digits[len(digits)-1] == '0' {
		digits, scale = digits[:len(digits)-1], scale-1
	}
	return digits + "e" + strconv.FormatInt(-scale, 10), true
}

// A duration in nanoseconds.
func duration(text string) (string, bool) {
	parsed, err := time.ParseDuration(text)
	return strconv.FormatInt(parsed.Nanoseconds(), 10), err == nil
}

// A point in time in seconds since the beginning of 1970.
func moment(text string) (string, bool) {
	parsed, err := time.Parse(time.RFC3339, text)
	return strconv.FormatInt(parsed.Unix(), 10), err == nil
}

// The virtual host that clients read from a URL with this path.
func vhost(text string) (string, bool) {
	parsed, err := url.Parse("amqp://broker/" + text)
	if err != nil || parsed.Host != "broker" || parsed.Path == "" {
		return "", false
	}
	return parsed.Path[1:], true
}

// A YAML document as JSON.
func document(text string) (string, bool) {
	json, err := yaml.YAMLToJSONStrict([]byte(text))
	return string(json), err == nil
}

// A name, which is its own value.
func valid(faults func(string) []string) parser {
	return func(text string) (string, bool) {
		return text, len(faults(text)) == 0
	}
}
