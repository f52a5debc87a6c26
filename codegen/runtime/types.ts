/** What a call of a tool throws when it fails. */
export class ToolError extends Error {
  /** The server's name in the configuration. */
  declare readonly server: string;
  /** The tool's own name. */
  declare readonly tool: string;
  /** What kind of failure it is. */
  declare readonly code: ToolErrorCode;
  /** Whether the same call may succeed later. */
  declare readonly retryable: boolean;
  /** How long to wait before that, in milliseconds, where it is known. */
  declare readonly retryAfterMs?: number;
  /** What to do about it. */
  declare readonly hint?: string;
  /** Set if the call was sent and its outcome is unknown. */
  declare readonly mayHaveRun?: boolean;
}

/** What kinds of failure there are. */
export type ToolErrorCode =
  | 'tool_error' // the tool ran and reported an error
  | 'invalid_arguments' // refused before it was sent
  | 'unknown_tool'
  | 'denied' // not allowed here
  | 'unavailable' // the server cannot be reached
  | 'protocol_error' // the server did not understand
  | 'timeout' // no answer in time; the tool may have run
  | 'cancelled' // the script ended first
  | 'call_limit' // too many calls in one script
  | 'quota_exceeded' // too many calls in a time
  | 'rate_limited' // the server, or the service behind it, wants fewer calls
  | 'needs_input'; // the server asked for something that nobody answered

/**
 * Stands for an image, a sound or a file in a tool's answer. A script that returns it shows an image or a sound to
 * the model; results.get(ref, { encoding: 'base64' }) returns its bytes.
 */
export interface Media {
  type: string;
  mimeType: string;
  uri?: string;
  /** Its length in bytes. */
  size: number;
  ref: string;
}
