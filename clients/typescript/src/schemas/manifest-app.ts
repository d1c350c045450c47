// Generated from the published schemas by `./dev fix`. Do not edit.

export type ManifestApp = {
  schema?: "agentapplications/v1";
  kind?: "app";
  slug?: string;
  name: string;
  description: string;
  version: string;
  license?: string;
  authors?: Array<(string | Record<string, unknown>)>;
  tags?: Array<string>;
  metadata?: Record<string, unknown>;
  entry: {
    command: string;
  };
  commands: Array<string>;
  skills: Array<string>;
  scheduling?: "supported" | "notSupported";
  confirmationRequired?: Array<string>;
};
