// Generated from the published schemas by `./dev fix`. Do not edit.

export type Auth = {
  /** Path of a SECRETS.md. */
  ref?: string;
  state?: {
    paths?: Array<string>;
    env?: Array<string>;
  };
  login?: {
    cmd: string;
    interactive?: boolean;
    requires_callback_url?: boolean;
    completes_when?: {
      cmd: string;
      exit_code?: number;
    };
  };
  refresh?: {
    cmd: string;
    /** ISO-8601 duration. */
    every?: string;
  };
  expiry?: {
    detect?: string;
  };
};

export type BundleId = string;

export type DisplayName = string;

/** Tried in order until one works. */
export type Install = Array<InstallMethod>;

/** One way to install. A method that is not in the list is allowed when it is marked experimental; readers skip it. */
export type InstallMethod = {
  method: string;
  [more: string]: unknown;
};

/** Older form of the runner; readers warn. */
export type LegacyRuntime = {
  mode?: "subprocess" | "sandbox" | "in-process";
  env?: unknown;
  network?: unknown;
  resources?: Limits;
};

export type Limits = {
  timeout_ms?: number;
  memory_mb?: number;
  cpu_ms?: number;
};

/** Definitions for the other manifest schemas; nothing is valid or invalid under this one by itself. */
export type ManifestBlocks = unknown;

export type Mount = {
  source: (string | Record<string, unknown>);
  at: string;
  mode?: "read-write" | "read-only";
};

export type Persist = {
  env?: string;
  secret_slug?: SecretSlug;
  /** Run with ${value} in it. */
  cmd?: string;
};

/** One word: a name on PATH, or a path. */
export type Program = string;

export type Purpose = string;

export type Requires = {
  os?: Array<"darwin" | "linux" | "windows">;
  arch?: Array<"x64" | "arm64" | "x86" | "arm">;
  min_disk_mb?: number;
  min_memory_mb?: number;
};

export type Runner = {
  engine?: "subprocess" | "sandbox" | "in-process";
  image?: string;
  needs?: {
    language?: "node" | "python" | "multi";
    native?: Array<string>;
    npm?: Array<string>;
    pip?: Array<string>;
  };
  limits?: Limits;
  runtime?: LegacyRuntime;
};

export type RunnerRef = (string | Record<string, unknown>);

export type Sandbox = {
  schema?: "sandbox/v1";
  id?: string;
  version?: Semver;
  provider: string;
  config: Record<string, unknown>;
  limits?: Limits;
  env?: {
    auth?: {
      ref?: string;
      state?: {
        env?: Array<string>;
      };
    };
    passthrough?: Array<string>;
  };
  network?: {
    /** Hosts that may be reached; none when empty or absent. */
    egress?: Array<string>;
  };
  mounts?: Array<Mount>;
  identity?: (Record<string, unknown> | unknown[]);
  policy?: (Record<string, unknown> | unknown[]);
  lifecycle?: {
    pause_after_idle?: string;
    destroy_on?: string;
  };
  read_only?: boolean;
  metadata?: Record<string, unknown>;
};

export type SandboxRef = (string | Record<string, unknown>);

export type SecretBinding = {
  vault?: SecretSlug;
  oauth?: string;
  value?: string;
};

export type SecretSlug = string;

/** A semantic version. */
export type Semver = string;

export type Setup = Array<SetupStep>;

export type SetupStep = {
  kind: "cmd" | "prompt" | "oauth" | "external";
  [more: string]: unknown;
};

export type SkipIf = {
  cmd: string;
  exit_code?: number;
  timeout_ms?: number;
};

export type StepId = string;

export type Tags = Array<string>;

export type ToolSandbox = {
  network?: {
    egress?: Array<string>;
    ingress?: Array<string>;
  };
  fs?: {
    read?: Array<string>;
    write?: Array<string>;
    deny?: Array<string>;
  };
  exec?: {
    allow: boolean;
    spawn?: Array<string>;
  };
  env?: {
    pass?: Array<string>;
    set?: Variables;
  };
  tty?: {
    required?: boolean;
  };
};

export type Variables = Record<string, string>;

export type VersionCheck = {
  /** The complete command. */
  cmd: string;
  /** ECMAScript expression; its first group is the version. */
  parse: string;
  /** npm range. */
  range: string;
  timeout_ms?: number;
};

export type Words = Array<string>;
