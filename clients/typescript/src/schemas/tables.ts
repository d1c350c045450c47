// Generated from the published schemas by `./dev fix`. Do not edit.

export interface FieldKind {
  accepts: string[];
  required: boolean;
}

export const CODES = {
  "OK": [
    "success",
    "The summary says ok."
  ],
  "PARTIAL": [
    "partial",
    "The summary says ok, but the results are partial."
  ],
  "PARTIAL_FAILURE": [
    "partial",
    "The summary is not ok; its partial results were asked for."
  ],
  "SUMMARY_NOT_OK": [
    "failed",
    "The summary says that the operation failed."
  ],
  "EXIT_CONTRADICTS_SUMMARY": [
    "failed",
    "The summary says ok, but the process ended with {status}."
  ],
  "INTERRUPTED": [
    "interrupted",
    "The summary says that the operation was interrupted."
  ],
  "STREAM_ENDED": [
    "success",
    "The unbounded stream ended by itself."
  ],
  "STREAM_INTERRUPTED": [
    "interrupted",
    "The unbounded stream was ended by {status}."
  ],
  "STREAM_FAILED": [
    "failed",
    "The unbounded stream ended with {status}."
  ],
  "NEVER_STARTED": [
    "failed",
    "The process ended with {status} before its stream began."
  ],
  "NO_SUMMARY": [
    "incomplete",
    "The stream ended without a summary, with {status}."
  ],
  "DOWNSTREAM_CLOSED": [
    "incomplete",
    "The reader of the stream went away before its summary, {status}."
  ],
  "LINE_TRUNCATED": [
    "incomplete",
    "The stream ended in the middle of line {line}, with {status}."
  ],
  "EXIT0_WITHOUT_SUMMARY": [
    "violation",
    "The process claims success with {status}, but there is no summary."
  ],
  "DOUBTFUL": [
    "violation",
    "Line {line} is doubtful, and reading is strict: {detail}."
  ],
  "LINE_TOO_LONG": [
    "violation",
    "Line {line} is longer than {detail} bytes."
  ],
  "BLANK_LINE": [
    "violation",
    "Line {line} is blank."
  ],
  "BYTE_ORDER_MARK": [
    "violation",
    "Line {line} begins with a byte order mark."
  ],
  "NUL_BYTE": [
    "violation",
    "Line {line} contains a NUL byte."
  ],
  "INVALID_UTF8": [
    "violation",
    "Line {line} is not UTF-8."
  ],
  "NESTED_TOO_DEEP": [
    "violation",
    "Line {line} is nested too deep to be read."
  ],
  "LONE_SURROGATE": [
    "violation",
    "Line {line} contains {detail}, a lone surrogate, which is not a character."
  ],
  "NUMBER_OUT_OF_RANGE": [
    "violation",
    "Line {line} has a number that no 64-bit float holds: {detail}."
  ],
  "NOT_JSON": [
    "violation",
    "Line {line} is not JSON: {detail}."
  ],
  "NOT_AN_OBJECT": [
    "violation",
    "Line {line} is JSON but not an object."
  ],
  "NO_TYPE": [
    "violation",
    "Line {line} has no `type`: it must be a string that is not empty."
  ],
  "MALFORMED_EVENT": [
    "violation",
    "Line {line} is a malformed {detail}."
  ],
  "TYPE_MISMATCH": [
    "violation",
    "Line {line} is not what its type promises: {detail}."
  ],
  "SECOND_META": [
    "violation",
    "Line {line} is a second aoi:meta; one stream has at most one."
  ],
  "OUTPUT_AFTER_SUMMARY": [
    "violation",
    "Line {line} follows the summary, which is the last event."
  ]
} as const;

export const HOST_CODES = {
  "DEADLINE_EXCEEDED": [
    "failed",
    "It did not end within {detail} s, so its process group was ended."
  ],
  "CANCELLED": [
    "interrupted",
    "The caller ended it."
  ],
  "DOWNSTREAM_CLOSED": [
    "incomplete",
    "Its reader went away before it had written its summary."
  ],
  "EVENT_LIMIT_REACHED": [
    "interrupted",
    "It gave more than the {detail} events that the caller wanted to keep."
  ],
  "SCHEMA_VIOLATION": [
    "violation",
    "Line {line} does not fit the tool's own schema at {detail}."
  ],
  "TYPE_MISMATCH": [
    "violation",
    "Line {line} is not what its type promises: {detail}."
  ]
} as const;

export const CATEGORIES: Record<string, { retryable: boolean; exit: number }> = {
  "usage": {
    "retryable": false,
    "exit": 64
  },
  "validation": {
    "retryable": false,
    "exit": 65
  },
  "authn": {
    "retryable": false,
    "exit": 77
  },
  "authz": {
    "retryable": false,
    "exit": 77
  },
  "not_found": {
    "retryable": false,
    "exit": 65
  },
  "conflict": {
    "retryable": false,
    "exit": 65
  },
  "rate_limited": {
    "retryable": true,
    "exit": 75
  },
  "temporary": {
    "retryable": true,
    "exit": 75
  },
  "timeout": {
    "retryable": true,
    "exit": 124
  },
  "cancelled": {
    "retryable": false,
    "exit": 130
  },
  "partial": {
    "retryable": false,
    "exit": 65
  },
  "internal": {
    "retryable": false,
    "exit": 70
  },
  "config": {
    "retryable": false,
    "exit": 78
  },
  "io": {
    "retryable": false,
    "exit": 74
  }
};

export const FIELDS: Record<string, Record<string, FieldKind>> = {
  "aoi:meta": {
    "tool": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "tool_version": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "aoi_version": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "schema_name": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "schema_version": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "command": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "input_mode": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "continue_on_error": {
      "accepts": [
        "bool"
      ],
      "required": false
    },
    "input_fingerprint": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "args_redacted": {
      "accepts": [
        "bool"
      ],
      "required": false
    },
    "unbounded": {
      "accepts": [
        "bool"
      ],
      "required": false
    },
    "heartbeat_interval": {
      "accepts": [
        "int",
        "float"
      ],
      "required": false
    },
    "dry_run": {
      "accepts": [
        "bool"
      ],
      "required": false
    },
    "reduced": {
      "accepts": [
        "bool"
      ],
      "required": false
    },
    "timestamp": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "trace_id": {
      "accepts": [
        "str"
      ],
      "required": false
    }
  },
  "aoi:summary": {
    "ok": {
      "accepts": [
        "bool"
      ],
      "required": true
    },
    "count": {
      "accepts": [
        "int"
      ],
      "required": false
    },
    "warning_count": {
      "accepts": [
        "int"
      ],
      "required": false
    },
    "error_count": {
      "accepts": [
        "int"
      ],
      "required": false
    },
    "partial": {
      "accepts": [
        "bool"
      ],
      "required": false
    },
    "truncated": {
      "accepts": [
        "bool"
      ],
      "required": false
    },
    "next_cursor": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "reason": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "elapsed_ms": {
      "accepts": [
        "int",
        "float"
      ],
      "required": false
    },
    "replayed": {
      "accepts": [
        "bool"
      ],
      "required": false
    },
    "dry_run": {
      "accepts": [
        "bool"
      ],
      "required": false
    },
    "plan_digest": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "ignored_count": {
      "accepts": [
        "int"
      ],
      "required": false
    },
    "upstream_warning_count": {
      "accepts": [
        "int"
      ],
      "required": false
    },
    "timestamp": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "trace_id": {
      "accepts": [
        "str"
      ],
      "required": false
    }
  },
  "aoi:warning": {
    "code": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "message": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "target": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "hint": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "timestamp": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "trace_id": {
      "accepts": [
        "str"
      ],
      "required": false
    }
  },
  "aoi:error": {
    "category": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "code": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "message": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "retryable": {
      "accepts": [
        "bool"
      ],
      "required": false
    },
    "target": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "hint": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "line_number": {
      "accepts": [
        "int"
      ],
      "required": false
    },
    "retry_after": {
      "accepts": [
        "int",
        "float"
      ],
      "required": false
    },
    "timestamp": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "trace_id": {
      "accepts": [
        "str"
      ],
      "required": false
    }
  },
  "aoi:heartbeat": {
    "timestamp": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "trace_id": {
      "accepts": [
        "str"
      ],
      "required": false
    }
  },
  "aoi:plan": {
    "action": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "target": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "timestamp": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "trace_id": {
      "accepts": [
        "str"
      ],
      "required": false
    }
  },
  "aoi:check": {
    "name": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "ok": {
      "accepts": [
        "bool"
      ],
      "required": false
    },
    "severity": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "detail": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "hint": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "timestamp": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "trace_id": {
      "accepts": [
        "str"
      ],
      "required": false
    }
  },
  "aoi:progress": {
    "done": {
      "accepts": [
        "int",
        "float"
      ],
      "required": false
    },
    "total": {
      "accepts": [
        "int",
        "float"
      ],
      "required": false
    },
    "message": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "unit": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "timestamp": {
      "accepts": [
        "str"
      ],
      "required": false
    },
    "trace_id": {
      "accepts": [
        "str"
      ],
      "required": false
    }
  }
};

export const DEFINED: Record<string, string[]> = {
  "aoi:meta": [
    "aoi_version",
    "args_redacted",
    "command",
    "continue_on_error",
    "input_fingerprint",
    "input_mode",
    "schema_name",
    "schema_version",
    "timestamp",
    "tool",
    "tool_version",
    "trace_id"
  ],
  "aoi:summary": [
    "count",
    "elapsed_ms",
    "error_count",
    "next_cursor",
    "ok",
    "partial",
    "reason",
    "timestamp",
    "trace_id",
    "truncated",
    "warning_count"
  ],
  "aoi:warning": [],
  "aoi:error": [
    "category",
    "code",
    "hint",
    "line_number",
    "message",
    "retryable",
    "target",
    "timestamp",
    "trace_id"
  ],
  "aoi:heartbeat": [],
  "aoi:plan": [],
  "aoi:check": [
    "detail",
    "name",
    "ok",
    "severity",
    "timestamp",
    "trace_id"
  ],
  "aoi:progress": []
};

export const DOUBTS: string[] = [
  "AOI_VERSION_UNKNOWN",
  "COUNT_DIFFERS",
  "DUPLICATE_KEYS",
  "ERRORS_BESIDE_OK",
  "FRAMEWORK_NAME_UNPREFIXED"
];

export const AOI_VERSIONS: string[] = [
  "0.2"
];
