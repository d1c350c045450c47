# What ref-bash does with JSON: the command line, the items, the store, the input. Reads and writes nothing itself.
#
# Programs answer in lines of a tag, a tab, and JSON: `domain`, `warning` and `error` are events, `store` is a line of the new
# store, `fail` ends the run. Failures are raised with `error` and become such a line in `answer`.

def failure($category; $code; $message; $details):
  {type: "aoi:error", category: $category, code: $code, message: $message, retryable: ($category == "temporary")}
  + $details + (if $category == "usage" then {hint: "ref-bash --help"} else {} end);

def fail($category; $code; $message; $details): error(failure($category; $code; $message; $details));

def line($tag): $tag + "\t" + tojson;

def tagged:
  line({"aoi:error": "error", "aoi:warning": "warning", "aoi:heartbeat": "other"}[.type] // "domain");

def answer(program):
  try program catch (if type == "object" then line("fail") else error end);

# [What the program makes], or null if that fails. Collected in an array, because until jq 1.7 `try` also caught what was raised
# by whatever follows it.
def parsed(program): [try [program] catch null][0];

# The command line, read by the table that input-schema publishes: what is documented is what is accepted. Nothing that was
# typed is repeated in an error, since any word may be a secret in the wrong place.

def position($argv; $known):
  def from($index):
    if $index >= ($argv | length) then null
    elif $argv[$index] | startswith("-") | not then $index
    else ($argv[$index] | if startswith("--") then $known[.[2:]] else null end) as $rule
      | from($index + (if $rule != null and $rule.type != "boolean" then 2 else 1 end))
    end;
  from(0);

def value($rule):
  if ($rule | has("enum")) and (. as $text | any($rule.enum[]; . == $text)) then .
  elif $rule.type == "integer" and test("\\A[0-9]{1,9}\\z")
    and (tonumber | . >= $rule.minimum and . <= $rule.maximum) then tonumber
  elif $rule.type == "string" and length >= ($rule.minLength // 0) then .
  else fail("usage"; $rule["x-code"] // "INVALID_VALUE"; "\($rule["x-cli"]) must be \($rule["x-expects"])";
    {target: $rule["x-cli"]})
  end;

def take_option($rules; $argv):
  .index as $number
  | ($argv[$number - 1] | index("=")) as $equals
  | (if $equals then $argv[$number - 1][:$equals] else $argv[$number - 1] end) as $named
  | $named[2:] as $name
  | $rules[$name] as $rule
  | if $rule["x-cli"] != $named then
      fail("usage"; "UNKNOWN_OPTION"; "Argument \($number) is not an option here"; {argument: $number})
    elif $rule.type == "boolean" then
      if $equals then fail("usage"; "INVALID_VALUE"; "\($named) takes no value"; {target: $named})
      else .options[$name] = true end
    elif $equals then .options[$name] = ($argv[$number - 1][$equals + 1:] | value($rule))
    elif $number == ($argv | length) or ($argv[$number] | startswith("--")) then
      fail("usage"; "MISSING_VALUE"; "\($named) needs a value"; {target: $named})
    else .options[$name] = ($argv[$number] | value($rule)) | .index += 1
    end;

def options($schema; $argv; $position):
  $schema.properties as $rules
  | [$rules | to_entries[] | select(.value["x-cli"] | startswith("--") | not) | .key][0] as $operand
  | {index: 0, only_operands: false, options: {}}
  | until(.index >= ($argv | length);
      .index as $index | $argv[$index] as $word | .index += 1
      | if $index == $position then .
        elif .only_operands or ($word | startswith("-") | not) or $word == "-" then
          if $operand != null and $rules[$operand].type == "array" then .options[$operand] += [$word]
          elif $operand != null and (.options | has($operand) | not) then .options[$operand] = $word
          else fail("usage"; "UNEXPECTED_OPERAND"; "Argument \(.index) is an operand too many"; {argument: .index})
          end
        elif $word == "--" then .only_operands = true
        else take_option($rules; $argv)
        end)
  | .options as $options
  | ([$schema.required[] | select(. as $name | $options | has($name) | not)][0]) as $missing
  | if $missing == null then $options
    else $rules[$missing]["x-cli"] as $named
      | fail("usage"; if $named | startswith("--") then "MISSING_OPTION" else "MISSING_OPERAND" end;
          "\($named) is missing"; {target: $named})
    end;

# The input is the words, each ended by NUL, and the word end; the answer is shell assignments.
def understand($text; $tool; $version):
  def shell:
    (del(.options) | to_entries[] | "\(.key)=\(.value | @sh)"),
    (select(.options) | "options=\(.options | tojson | @sh)", (.options | to_entries[]
      | if .value | type == "array" then "operands=(\(.value | @sh))" else "given[\(.key)]=\(.value | tostring | @sh)" end));
  ($text | split("{tool}") | join($tool) | split("{version}") | join($version) | fromjson) as $contract
  | split("\u0000")[:-1] as $argv
  | $contract.inputs as $inputs
  | position($argv; $inputs[""].properties) as $position
  | (if $position == null then "" else $argv[$position] end) as $word
  | (if $inputs | has($word) then $word else "" end) as $command
  | try
      if any($argv[:($argv | index("--"))][]; . == "--help" or . == "-h") then {action: "text", text: $contract.help}
      elif $position != null and $command == "" then
        ($position + 1) as $number
        | fail("usage"; "UNKNOWN_COMMAND"; "Argument \($number) is not a command"; {argument: $number})
      else options($inputs[$command]; $argv; $position) as $options
        | (if $command != "" then $command else [$options | keys[] | select(IN("version", "schema", "capabilities"))][-1] end)
          as $command
        | if $command == null then fail("usage"; "MISSING_COMMAND"; "A command is missing"; {})
          elif $command == "version" then {action: "text", text: "\($tool) \($version)\n"}
          elif $command | IN("schema", "capabilities", "input-schema") then
            (if $command == "input-schema" then $inputs[$options.command] else $contract[$command] end)
            | if ($options.output // $options.format) == "jsonl"
              then {action: "document", command: $command,
                text: ({type: "discovery_document", name: $command, content: .} | tojson)}
              else {action: "text", text: (tojson + "\n")} end
          else {action: "run", command: $command, options: $options}
          end
      end
    catch (if type == "object" then {action: "misuse", command: $command, text: tojson} else error end)
  | shell;

# Items.

def broken($allowed):
  any(explode[]; (. < 32 or (. >= 127 and . <= 159) or . == 8232 or . == 8233 or . == 65533)
    and (. as $letter | any($allowed[]; . == $letter) | not));

def problem:
  if (keys - ["body", "id", "title", "type"]) != [] then "there is an unknown field"
  elif has("type") and .type != "entry" then "type must be entry"
  elif (.title | type != "string" or length < 1 or length > 200 or broken([])) then
    "title must be 1 to 200 characters, none of them a control character"
  elif has("body") and (.body | type != "string" or length > 10000 or broken([9, 10])) then
    "body must be at most 10000 characters, none of them a control character but tab and newline"
  elif has("id") and (.id | type != "string" or (test("\\Ai_[0-9a-f]{12}\\z") | not)) then
    "id must be i_ and 12 hexadecimal digits"
  else null end;

# The store: its lines as {next, items, keys}. The input is the text of the file.

def store($exists):
  if $exists | not then {next: 1, items: [], keys: []}
  else
    parsed(split("\n") | map(select(. != "") | fromjson) | if .[0].next | type == "number" then . else error end)
    | if . == null then fail("io"; "STORE_DAMAGED"; "The store is damaged"; {}) else .[0] end
    | {next: .[0].next, items: map(select(.kind == "item")), keys: map(select(.kind == "key"))}
  end;

# `list` and `search`: events, and the place of the last one if there are more.
def page($exists; $ask; $after):
  answer(
    store($exists).items
    | if $ask.query then
        ($ask.query | ascii_downcase | split(" ") | map(select(. != ""))) as $words
        | if $words == [] then fail("usage"; "INVALID_VALUE"; "QUERY must have a word"; {target: "QUERY"}) else . end
        | map(select("\(.title)\n\(.body)" | ascii_downcase | . as $text | all($words[]; . as $word | $text | contains($word))))
      else . end
    | to_entries | map(select(.value.seq > $after))
    | ($ask.limit // 20) as $limit
    | (.[:$limit][]
        | if $ask.query then {type: "hit", rank: (.key + 1), id: .value.id, title: .value.title, snippet: .value.body[:80]}
          else {type: "entry", id: .value.id, title: .value.title, body: .value.body} end
        | tagged),
      (select(length > $limit) | .[$limit - 1].value.seq | line("more")));

# Changes: what is wrong with single items, and what is to be done with the others. `$lines` are items to make, each with
# the number of its line, if it has one.

def on_line: if .line then {line_number: .line} else {} end;

def plan($ask; $lines):
  .items as $items
  | (reduce $items[] as $item ({}; .[$item.id] = true)) as $known
  | if $ask.command == "delete" then
      ([$ask.ids | to_entries[] | select($known[.value] | not) | .key + 1][0]) as $operand
      | if $operand != null then
          fail("not_found"; "ITEM_NOT_FOUND"; "Operand \($operand) is not the id of an item"; {operand: $operand})
        else {problems: [], changes: (reduce $ask.ids[] as $id ([]; if index($id) then . else . + [$id] end) | map({id: .}))} end
    else
      reduce $lines[] as $line ({known: $known, problems: [], changes: []};
        $line.item.id as $id
        | (if $id and .known[$id] then
            (if $line.line then "Input line \($line.line): an" else "An" end) as $which
            | failure("conflict"; "ID_EXISTS"; "\($which) item with this id exists"; $line | on_line)
            | if $ask.tolerant then . else error(.) end
          else null end) as $problem
        | if $problem then .problems += [$problem]
          else .changes += [$line] | if $id then .known[$id] = true else . end
          end)
    end;

def apply($ask; $changes; $random):
  if $ask.command == "delete" then
    ($changes | map(.id)) as $ids
    | .items |= map(select(.id as $id | any($ids[]; . == $id) | not))
    | .events = ($changes | map({type: "deleted", id}))
  else
    reduce ($changes | to_entries[]) as {key: $number, value: $line} (.events = [];
      ($line.item.id // "i_" + $random[12 * $number:12 * $number + 12]) as $id
      | .items += [{kind: "item", seq: .next, id: $id, title: $line.item.title, body: ($line.item.body // "")}]
      | .next += 1
      | .events += [{type: "created", id: $id} + ($line | on_line)])
  end;

# The first line of the answer says what it is: `dry`, `replayed` or `changed`. `$read` are the lines of an import.
def change($exists; $command; $options; $read; $key; $request; $random):
  ({command: $command, ids: $options.ids, dry: $options["dry-run"], tolerant: $options["continue-on-error"], request: $request}
    + if $key == "" then {} else {key: $key} end) as $ask
  | answer(
    (if $command == "create" then
        ($options | {id, title, body} | with_entries(select(.value != null)))
        | problem as $reason | if $reason then fail("validation"; "ITEM_INVALID"; $reason; {}) else [{item: .}] end
      else $read end) as $lines
    | store($exists) as $store
    | ([$store.keys[] | select($ask.key and .key == $ask.key)][0]) as $done
    | if $done and ($ask.dry | not) then
        if $done.request == $ask.request then "replayed", ($done.events[] | tagged)
        else fail("conflict"; "IDEMPOTENCY_KEY_REUSED"; "This idempotency key was used for another call"; {}) end
      else
        ($store | plan($ask; $lines)) as $plan
        | if $ask.dry then
            "dry", ($plan.problems[] | tagged),
            ($plan.changes[] | {type: "aoi:plan", action: (if .item then "create" else "delete" end)}
              + ((.id // .item.id) as $id | if $id then {target: $id} else {} end) + on_line | tagged)
          else
            ($store | apply($ask; $plan.changes; $random)) as $new
            | ($plan.problems + $new.events) as $events
            | (if $ask.key then [{kind: "key", key: $ask.key, request: $ask.request, events: $events}] else [] end) as $key
            | "changed", ($events[] | tagged),
              ({kind: "store", format: 1, next: $new.next}, $new.items[], ($store.keys + $key)[-1000:][] | line("store"))
          end
      end);

# The input side: JSONL that may be the stream of another AOI tool (sections 12 and 13). Each raw line is an input. The answer
# is events, `item` lines, and at the end `remarks` for the summary.

# jq is more lenient than JSON: it takes NaN, raw control characters in texts, halves of surrogate pairs, bytes that are no
# UTF-8 (which arrive here as U+FFFD) and a byte order mark. What remains of JSON without its texts has no quote.
def strict_json:
  if test("\\A\ufeff|\ufffd") or (gsub("\"(?>[^\"\\\\\\x00-\\x1f]+|\\\\.)*\""; "") | test("\"|nan"; "i"))
    or (gsub("\\\\\\\\|\\\\u[dD][89abAB]..\\\\u[dD][c-fC-F].."; "") | test("\\\\u[dD][89a-fA-F]"))
  then error("not JSON") else fromjson end;

def intake($tolerant):
  def rejected($code; $message): failure("validation"; $code; $message; {line_number: .number});
  def step($line):
    .number += 1 | .out = null
    | if $line | test("\\A[ \t\r\u000b\f]*\\z") then .
      else ($line | parsed(strict_json)) as $parsed
        | if $parsed == null then .out = rejected("INPUT_JSONL_PARSE_ERROR"; "Invalid JSON on input line \(.number)")
          elif $parsed[0] | type != "object" then
            .out = rejected("INPUT_NOT_OBJECT"; "Input line \(.number) is not a JSON object")
          else $parsed[0] as $value | ($value.type | if type == "string" then . else null end) as $kind
            | if $kind == "aoi:meta" then .incomplete = (.incomplete or .open) | .open = true | .closed = false
              elif $kind == "aoi:warning" then .warnings += 1
              elif $kind == "aoi:error" then .failed = true
              elif $kind == "aoi:summary" then
                .failed = (.failed or $value.ok != true) | .open = false | .closed = true
              elif $kind != null and ($kind | startswith("aoi:")) then .
              elif .closed then
                .out = rejected("INPUT_AFTER_SUMMARY"; "Input line \(.number) follows the end of its stream")
              elif $kind != null and $kind != "entry" then .ignored += 1
              else ($value | problem) as $reason
                | .out = if $reason then rejected("INPUT_INVALID"; "Input line \(.number): \($reason)")
                  else {line: .number, item: $value} end
              end
          end
      end;
  def judge:
    if .incomplete or .open then failure("io"; "UPSTREAM_INCOMPLETE"; "The upstream tool ended without a summary"; {})
    elif .failed then
      if $tolerant then {type: "aoi:warning", code: "UPSTREAM_FAILED", message: "The upstream tool reported a failure"}
      else failure("partial"; "UPSTREAM_FAILED"; "The upstream tool reported a failure"; {}) end
    else empty end;
  def told: if .type == "aoi:error" and ($tolerant | not) then error(.) else tagged end;
  answer(
    foreach (inputs, null) as $line ({number: 0, warnings: 0, ignored: 0};
      if $line == null then .end = true else step($line) end;
      if .end then (judge | told), ({ignored_count: .ignored, upstream_warning_count: .warnings}
          | with_entries(select(.value > 0)) | line("remarks"))
      elif .out == null then empty
      elif .out.item then .out | line("item")
      else .out | told end));
