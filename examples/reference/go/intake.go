package main

// The input side: what an item may be, and JSONL that may be the stream of another AOI tool (sections 12 and 13).
//
// Lines with an "aoi:" type are control: they say whether what came upstream is complete and good. "entry" lines and lines
// without a type are items. Other types are counted and left out. A bad line ends the run before anything is done, or, with
// --continue-on-error, is reported and left out.

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

// An import is read whole before anything is done; beyond this, import in parts.
const maxInput = 16 << 20

var (
	idPattern = regexp.MustCompile(`\Ai_[0-9a-f]{12}\z`)
	// Go would read half of a surrogate pair as U+FFFD. It is there if an escape of its form is left without whole pairs.
	escapes  = regexp.MustCompile(`\\\\|(?i)\\ud[89ab]..\\ud[c-f]..`)
	halfPair = regexp.MustCompile(`(?i)\\ud[89a-f]`)
)

// isText says whether text has few enough characters and none that acts on a terminal. U+FFFD is what broken text turns
// into, also while Go decodes it.
func isText(value any, most int, allowed string) bool {
	text, ok := value.(string)
	if !ok || utf8.RuneCountInString(text) > most {
		return false
	}
	return strings.IndexFunc(text, func(letter rune) bool {
		if strings.ContainsRune(allowed, letter) {
			return false
		}
		return letter < ' ' || (letter >= 0x7f && letter <= 0x9f) || letter == 0x2028 || letter == 0x2029 || letter == 0xfffd
	}) < 0
}

// problem says why this cannot be an item; nothing if it can.
func problem(value map[string]any) string {
	for name := range value {
		if name != "type" && name != "id" && name != "title" && name != "body" {
			return "there is an unknown field"
		}
	}
	if kind, given := value["type"]; given && kind != "entry" {
		return "type must be entry"
	}
	if title := value["title"]; title == "" || !isText(title, 200, "") {
		return "title must be 1 to 200 characters, none of them a control character"
	}
	if body, given := value["body"]; given && !isText(body, 10000, "\t\n") {
		return "body must be at most 10000 characters, none of them a control character but tab and newline"
	}
	if id, given := value["id"]; given {
		if text, ok := id.(string); !ok || !idPattern.MatchString(text) {
			return "id must be i_ and 12 hexadecimal digits"
		}
	}
	return ""
}

// A Line is an item and the number of the line that it comes from.
type Line struct {
	number int
	item   Item
}

// An Intake reads one input. Afterwards digest identifies it, and the counts are for the summary.
type Intake struct {
	stream                           *Stream
	tolerant                         bool
	digest                           string
	ignored, warnings                int
	open, closed, incomplete, failed bool
}

func (intake *Intake) read(source string) ([]Line, error) {
	file := os.Stdin
	if source != "-" {
		var err error
		if file, err = os.Open(source); errors.Is(err, fs.ErrNotExist) {
			return nil, newFail("not_found", "INPUT_NOT_FOUND", "The input file does not exist")
		} else if err != nil {
			return nil, newFail("io", "INPUT_UNREADABLE", "The input cannot be read")
		}
		defer file.Close()
	}
	sum := sha256.New()
	reader := bufio.NewReader(io.TeeReader(file, sum))
	items := []Line{}
	size := 0
	for number := 1; ; number++ {
		// A line without an end is bounded like the whole.
		line, err := reader.ReadSlice('\n')
		whole := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) && size+len(whole) <= maxInput {
			line, err = reader.ReadSlice('\n')
			whole = append(whole, line...)
		}
		if size += len(whole); size > maxInput {
			return nil, newFail("validation", "INPUT_TOO_LARGE", "The input has more than 16 MiB")
		}
		if err != nil && err != io.EOF {
			return nil, newFail("io", "INPUT_UNREADABLE", "The input cannot be read")
		}
		if item, fail := intake.item(whole, number); fail != nil {
			if !intake.tolerant {
				return nil, fail
			}
			intake.stream.send(fail)
		} else if item != nil {
			items = append(items, Line{number, *item})
		}
		if err == io.EOF {
			break
		}
	}
	intake.digest = hex.EncodeToString(sum.Sum(nil))
	return items, intake.judgeUpstream()
}

func (intake *Intake) item(line []byte, number int) (*Item, *Fail) {
	if len(bytes.Trim(line, " \t\r\n\v\f")) == 0 {
		return nil, nil
	}
	var value any
	if !utf8.Valid(line) || json.Unmarshal(line, &value) != nil || halfPair.Match(escapes.ReplaceAll(line, nil)) {
		return nil, rejected("INPUT_JSONL_PARSE_ERROR", "Invalid JSON on input line %d", number)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, rejected("INPUT_NOT_OBJECT", "Input line %d is not a JSON object", number)
	}
	kind, typed := object["type"].(string)
	if strings.HasPrefix(kind, "aoi:") {
		intake.control(kind, object)
		return nil, nil
	}
	if intake.closed {
		return nil, rejected("INPUT_AFTER_SUMMARY", "Input line %d follows the end of its stream", number)
	}
	if typed && kind != "entry" {
		intake.ignored++
		return nil, nil
	}
	if reason := problem(object); reason != "" {
		return nil, rejected("INPUT_INVALID", "Input line %d: "+reason, number)
	}
	item := &Item{Title: object["title"].(string)}
	item.ID, _ = object["id"].(string)
	item.Body, _ = object["body"].(string)
	return item, nil
}

func (intake *Intake) control(kind string, event map[string]any) {
	switch kind {
	case "aoi:meta": // several streams may follow one another, as after `cat a b`
		intake.incomplete = intake.incomplete || intake.open
		intake.open, intake.closed = true, false
	case "aoi:warning":
		intake.warnings++
	case "aoi:error":
		intake.failed = true
	case "aoi:summary":
		intake.failed = intake.failed || event["ok"] != true
		intake.open, intake.closed = false, true
	}
}

func (intake *Intake) judgeUpstream() error {
	if intake.incomplete || intake.open {
		fail := newFail("io", "UPSTREAM_INCOMPLETE", "The upstream tool ended without a summary")
		if !intake.tolerant {
			return fail
		}
		intake.stream.send(fail)
	} else if intake.failed {
		fail := newFail("partial", "UPSTREAM_FAILED", "The upstream tool reported a failure")
		if !intake.tolerant {
			return fail
		}
		intake.stream.send(Warning{"aoi:warning", fail.Code, fail.Message})
	}
	return nil
}

func rejected(code, format string, number int) *Fail {
	fail := newFail("validation", code, fmt.Sprintf(format, number))
	fail.LineNumber = number
	return fail
}
