package main

// The command line, read by the table that `input-schema` publishes: what is documented is what is accepted.
//
// Nothing that was typed is repeated in an error, since any word may be a secret in the wrong place: errors name options
// that exist, or the number of the argument.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

type Rule struct {
	Type                        string
	Enum                        []string
	Minimum, Maximum, MinLength int
	CLI                         string `json:"x-cli"`
	Expects                     string `json:"x-expects"`
	Code                        string `json:"x-code"`
}

// Options are texts by name; a flag that is given is "true".
type Options map[string]string

var digits = regexp.MustCompile(`^[0-9]{1,9}$`)

// readOptions reads everything after the command.
func readOptions(document json.RawMessage, words []string) Options {
	var schema struct {
		Properties map[string]Rule
		Required   []string
	}
	parse(document, &schema)
	options, names, operand := Options{}, map[string]string{}, ""
	for name, rule := range schema.Properties {
		names[rule.CLI] = name
		if !strings.HasPrefix(rule.CLI, "--") {
			operand = name // a command has at most one
		}
	}
	onlyOperands := false
	for index := 0; index < len(words); index++ {
		word, number := words[index], index+2 // the command was the first argument
		if word == "--" && !onlyOperands {
			onlyOperands = true
			continue
		}
		label, text, equals := strings.Cut(word, "=")
		name, known := names[label]
		if onlyOperands || word == "-" || !strings.HasPrefix(word, "-") {
			name, text, equals, known = operand, word, true, operand != "" && options[operand] == ""
		}
		message := fmt.Sprintf("Argument %d is not expected here", number)
		failIf(!known, "usage", "UNEXPECTED_ARGUMENT", message, "argument", number)
		rule := schema.Properties[name]
		if !equals && rule.Type != "boolean" {
			index++
			missing := index == len(words) || strings.HasPrefix(words[index], "--")
			failIf(missing, "usage", "MISSING_VALUE", label+" needs a value", "target", label)
			text, equals = words[index], true
		}
		rule.check(text, equals)
		options[name] = cmp.Or(text, "true")
	}
	for _, name := range schema.Required {
		label := schema.Properties[name].CLI
		failIf(options[name] == "", "usage", "MISSING_ARGUMENT", label+" is missing", "target", label)
	}
	return options
}

func (rule Rule) check(text string, given bool) {
	number, _ := strconv.Atoi(text)
	allowed := map[string]bool{
		"":        slices.Contains(rule.Enum, text),
		"boolean": !given,
		"string":  len(text) >= rule.MinLength,
		"integer": digits.MatchString(text) && number >= rule.Minimum && number <= rule.Maximum,
	}
	code := cmp.Or(rule.Code, "INVALID_VALUE")
	failIf(!allowed[rule.Type], "usage", code, rule.CLI+" must be "+rule.Expects, "target", rule.CLI)
}
